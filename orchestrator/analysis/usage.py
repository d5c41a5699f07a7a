"""How long trials took, how many turns and tokens: medians and 90th percentiles for each arm, from the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.blocks import Block, Wanted
from orchestrator.analysis.cells import ARM_KEYS

QUANTITIES = ("total_s", "turns", "tokens")
_COLUMNS = ("total_s", "turns", "tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_written")


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and 90th percentile over the final attempts that know the quantity; None where none does."""

    known: int
    median: float | None
    p90: float | None


Lists = dict[tuple[object, ...], dict[str, list[NDArray[np.float32]]]]


@dataclass(frozen=True, slots=True)
class UsageOf:
    """Gathers the quantities of final attempts by arm (suite, agent, resources, lane). 12 bytes for each attempt."""

    sweep: str | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted((*ARM_KEYS, "sweep"), _COLUMNS, ("final",))

    def take(self, block: Block) -> Lists:
        mask = block.flags["final"]
        if self.sweep is not None:
            mask = mask & block.coded["sweep"].mask(lambda value: value == self.sweep)
        code = np.zeros(block.rows, dtype=np.int64)
        for name in ARM_KEYS:
            code = code * len(block.coded[name].values) + block.coded[name].codes
        values = _values(block.numbers)
        found: Lists = {}
        for one in np.unique(code[mask]):
            rows = np.flatnonzero(mask & (code == one))
            arm = tuple(block.coded[name].values[block.coded[name].codes[rows[0]]] for name in ARM_KEYS)
            found[arm] = {name: [values[name][rows].astype(np.float32)] for name in QUANTITIES}
        return found

    def join(self, parts: Sequence[Lists]) -> Lists:
        joined: Lists = {}
        for part in parts:
            for arm, lists in part.items():
                mine = joined.setdefault(arm, {name: [] for name in QUANTITIES})
                for name in QUANTITIES:
                    mine[name] += lists[name]
        return joined

    def size(self, part: Lists) -> int:
        return 0


def spreads(lists: Lists) -> dict[tuple[object, ...], dict[str, Spread]]:
    """Medians and 90th percentiles by arm and quantity."""
    return {
        arm: {name: _spread(parts) for name, parts in found.items()} for arm, found in sorted(lists.items(), key=str)
    }


def _values(numbers: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    parts = np.stack([numbers[name] for name in _COLUMNS[2:]])
    tokens = np.where(np.isnan(parts).all(axis=0), np.nan, np.nan_to_num(parts).sum(axis=0))
    return {"total_s": numbers["total_s"], "turns": numbers["turns"], "tokens": tokens}


def _spread(parts: Sequence[NDArray[np.float32]]) -> Spread:
    values = np.concatenate(parts)
    values = values[~np.isnan(values)]
    if not len(values):
        return Spread(0, None, None)
    median, p90 = np.quantile(values.astype(np.float64), [0.5, 0.9])
    return Spread(len(values), float(median), float(p90))
