"""Comparing two selections of rows: arm with arm, setting with setting, day with day, lane with lane."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orchestrator.analysis.cells import ARM_KEYS
from orchestrator.analysis.context import Settings
from orchestrator.analysis.contrasts import Side, Terms, compare_sides
from orchestrator.analysis.estimand import retry_sentence
from orchestrator.analysis.families import adjusted
from orchestrator.analysis.floors import oracle_floors
from orchestrator.analysis.grouping import Grouped, merge
from orchestrator.analysis.integrity import check_profiles
from orchestrator.analysis.rows import RowsError
from orchestrator.analysis.select import parse_selection
from orchestrator.analysis.summary import Loaded, load_cells
from orchestrator.analysis.tables import ComparisonRow

PROFILED = (*ARM_KEYS, "sweep")


def compare(
    roots: Sequence[str],
    first: str | Sequence[str],
    second: str | Sequence[str],
    settings: Settings | None = None,
    *,
    ks: Sequence[int] = (),
    anyway: bool = False,
) -> list[ComparisonRow]:
    """Differences, second less first, paired by task, one row for each statistic.

    Raises RowsError where a selection is empty, the sides overlap or do not match (unless `anyway`).
    """
    return compare_loaded(load_cells(roots), first, second, settings or Settings(), ks=ks, anyway=anyway)


def compare_loaded(
    loaded: Loaded,
    first: str | Sequence[str],
    second: str | Sequence[str],
    settings: Settings,
    *,
    ks: Sequence[int] = (),
    anyway: bool = False,
) -> list[ComparisonRow]:
    """As `compare`, from cells that are loaded already."""
    one, other = parse_selection(first), parse_selection(second)
    masks = [selection.mask(loaded.cells) for selection in (one, other)]
    cells = [selection.apply(loaded.cells) for selection in (one, other)]
    if np.any(masks[0] & masks[1]):
        raise RowsError(f"{one} and {other} select some of the same trials: choose sides that exclude each other.")
    _one_suite(cells)
    sides = [Side.of(str(s), part, settings.rule) for s, part in zip((one, other), cells, strict=True)]
    for side in sides:
        if not side.tasks:
            raise RowsError(
                f"{side.label} has no trial that counts under the rule {settings.rule}: nothing can be compared."
            )
    profiles = (_there(loaded.profiles, cells[0], PROFILED), _there(loaded.profiles, cells[1], PROFILED))
    policy = retry_sentence(
        sorted({*profiles[0].keys["retry_max"].present(), *profiles[1].keys["retry_max"].present()}, key=str)
    )
    terms = Terms(settings, policy, oracle_floors(loaded.cells, settings.level))
    digests = merge([_there(loaded.digests, part, ("suite", "sweep", "task")) for part in cells])
    mixed = [finding.sentence for finding in check_profiles(merge(profiles), digests) if finding.spoils]
    if mixed and not anyway:
        raise RowsError(f"{mixed[0]} (To compare all the same, marked: --anyway.)")
    rows = list(compare_sides(sides[0], sides[1], terms, profiles=profiles, anyway=anyway, ks=ks))
    rows = [replace(row, marks="; ".join(filter(None, (row.marks, *(m.rstrip(".") for m in mixed))))) for row in rows]
    for row in rows:
        if row.number.estimate is None and ks:
            shared = sorted(set(sides[0].tasks) & set(sides[1].tasks))
            most = min(int(side.on(shared).n.min()) for side in sides)
            raise RowsError(
                f"{row.statistic} was asked for, but cannot be given: {(row.number.reason or '').rstrip('.')}; "
                f"every task has {most}, so ask for k up to {most}, or run more repeats."
            )
    return list(adjusted(rows, settings)) if len(rows) > 1 else rows


def _one_suite(cells: Sequence[Grouped]) -> None:
    suites = sorted({str(suite) for part in cells for suite in part.keys["suite"].present()})
    if len(suites) > 1:
        raise RowsError(f"The sides hold trials of {len(suites)} suites ({', '.join(suites)}): add suite=NAME to both.")


def _there(grouped: Grouped, cells: Grouped, names: Sequence[str]) -> Grouped:
    """The part whose names a side has."""
    mask = np.ones(len(grouped), dtype=bool)
    for name in names:
        there = set(cells.keys[name].present())
        mask &= grouped.keys[name].mask(lambda value, there=there: value in there)  # type: ignore[misc]
    return grouped.where(mask)
