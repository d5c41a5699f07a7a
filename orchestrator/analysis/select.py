"""Selections of cells: `agent=a resources=3x`, `day=2026-01-01..2026-01-03`, `wave=0..2`, `lane=frozen`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.rows import RowsError

FIELDS = ("sweep", "suite", "agent", "resources", "lane", "snapshot_id", "wave", "day", "task", "task_cluster")
_SHORT = {"snapshot": "snapshot_id", "cluster": "task_cluster"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that all hold: field -> alternatives, each one value or a range low..high."""

    conditions: tuple[tuple[str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        return " ".join(f"{name}={','.join(values)}" for name, values in self.conditions) or "all"

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.conditions)

    def mask(self, cells: Grouped) -> NDArray[np.bool_]:
        """Which cells are selected."""
        selected = np.ones(len(cells), dtype=bool)
        for name, alternatives in self.conditions:
            selected &= cells.keys[name].mask(_matcher(alternatives))
        return selected

    def apply(self, cells: Grouped) -> Grouped:
        """The selected cells. Raises RowsError, with the values that occur, where there are none."""
        chosen = cells.where(self.mask(cells))
        if not len(chosen):
            there = "; ".join(f"{name}: {_some(cells, name)}" for name, _ in self.conditions)
            raise RowsError(f"{self} was asked for, but no row is so. There are {there}.")
        return chosen


def parse_selection(text: str | Sequence[str]) -> Selection:
    """A selection from words `field=value`; a word without `=` is an agent. Raises RowsError."""
    words = text.split() if isinstance(text, str) else [part for word in text for part in word.split()]
    conditions: list[tuple[str, tuple[str, ...]]] = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            name, value = "agent", word
        name = _SHORT.get(name, name)
        if name not in FIELDS or not value:
            raise RowsError(f"{word!r} selects nothing: write field=value with a field of {', '.join(FIELDS)}.")
        conditions.append((name, tuple(value.split(","))))
    return Selection(tuple(conditions))


def _matcher(alternatives: tuple[str, ...]) -> Callable[[object], bool]:
    def matches(value: object) -> bool:
        return any(_one(alternative, value) for alternative in alternatives)

    return matches


def _one(alternative: str, value: object) -> bool:
    low, dots, high = alternative.partition("..")
    if not dots:
        return str(value) == alternative
    if isinstance(value, int):
        try:
            return (not low or value >= int(low)) and (not high or value <= int(high))
        except ValueError:
            raise RowsError(
                f"The range {alternative!r} was given for numbers: write whole numbers, as in 0..2."
            ) from None
    return (not low or str(value) >= low) and (not high or str(value) <= high)


def _some(cells: Grouped, name: str, at_most: int = 6) -> str:
    values = [str(value) for value in cells.keys[name].present()]
    return ", ".join(values[:at_most]) + (", ..." if len(values) > at_most else "")
