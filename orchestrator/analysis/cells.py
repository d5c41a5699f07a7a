"""Rows to cells: counts by status, sums of score and cost for each task under each condition.

All statistics start from cells. Counts are of trials (final attempts that are not suspect); cost and
attempts are of every attempt, so that what failed attempts cost is never lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.blocks import Block, Coded, Excluded, Wanted
from orchestrator.analysis.grouping import Grouped, GroupedBy, Sums
from orchestrator.analysis.rows import RowFile, RowsError
from orchestrator.analysis.scanning import Partitioner, gather
from orchestrator.core.status import Origin, ScoringRule, Status

CELL_KEYS = (
    "sweep",
    "suite",
    "agent",
    "resources",
    "lane",
    "snapshot_id",
    "wave",
    "day",
    "task",
    "task_cluster",
    "judge_version",
)
ARM_KEYS = ("suite", "agent", "resources", "lane")
STATUSES = tuple(Status)


@dataclass(frozen=True, slots=True)
class CellReduction:
    """What is summed in a cell.

    trials_<STATUS>: final attempts, not suspect. suspect: final attempts kept out. attempts and
    attempts_infrastructure: all attempts. score_sum, score_sumsq: over trials of origin agent, a missing
    score adding 0. score_missing: trials that passed or failed and tell none. cost_sum, cost_known: over all
    attempts. oom: trials with a counted OOM kill.
    """

    @property
    def wanted(self) -> Wanted:
        return Wanted(("status",), ("score", "cost_usd", "used_oom_kills"), ("final", "suspect"))

    def reduce(self, block: Block, code: NDArray[np.int64], size: int) -> dict[str, Sums]:
        status = checked_statuses(block.coded["status"])
        final, trial = block.flags["final"], block.flags["final"] & ~block.flags["suspect"]
        sums = _counts(block.coded["status"].codes, status, final, trial, code, size)
        agent = np.array([s.origin is Origin.AGENT for s in status])[block.coded["status"].codes]
        graded = np.array([s in (Status.PASSED, Status.FAILED) for s in status])[block.coded["status"].codes]
        sums["score_missing"] = _count(code, trial & graded & np.isnan(block.numbers["score"]), size)
        score = np.where(trial & agent, block.numbers["score"], 0.0)
        score[np.isnan(score)] = 0.0
        sums["score_sum"] = np.bincount(code, weights=score, minlength=size)
        sums["score_sumsq"] = np.bincount(code, weights=score * score, minlength=size)
        cost = block.numbers["cost_usd"]
        known = ~np.isnan(cost)
        sums["cost_sum"] = np.bincount(code, weights=np.where(known, cost, 0.0), minlength=size)
        sums["cost_known"] = _count(code, known, size)
        sums["oom"] = _count(code, trial & (block.numbers["used_oom_kills"] > 0), size)
        return sums


def _counts(
    codes: NDArray[np.int32],
    status: Sequence[Status],
    final: NDArray[np.bool_],
    trial: NDArray[np.bool_],
    code: NDArray[np.int64],
    size: int,
) -> dict[str, Sums]:
    width = len(status)
    kind = np.where(trial, 0, np.where(final, 1, 2))
    joint = (code * 3 + kind) * width + codes
    counts = np.bincount(joint, minlength=size * 3 * width).reshape(size, 3, width)
    sums: dict[str, Sums] = {f"trials_{s}": counts[:, 0, i].copy() for i, s in enumerate(status)}
    sums["suspect"] = counts[:, 1].sum(axis=1)
    sums["attempts"] = counts.sum(axis=(1, 2))
    infrastructure = [s.origin is Origin.INFRASTRUCTURE for s in status]
    sums["attempts_infrastructure"] = counts[:, :, infrastructure].sum(axis=(1, 2))
    return sums


def _count(code: NDArray[np.int64], mask: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    if not mask.any():
        return np.zeros(size, dtype=np.int64)
    return np.bincount(code if mask.all() else code[mask], minlength=size)


def checked_statuses(column: Coded) -> list[Status]:
    """The statuses of a column's values. Raises RowsError for one that is none."""
    try:
        return [Status(str(value)) for value in column.values]
    except ValueError as error:
        raise RowsError(f"A row has a status that does not exist ({error}): correct the row.") from None


CELLS = GroupedBy(CELL_KEYS, CellReduction())


def read_cells(
    files: Sequence[RowFile], *, excluded: Excluded | None = None, map_partitions: Partitioner | None = None
) -> Grouped:
    """The cells of all rows of the files, in one pass. Raises RowsError where there is no row."""
    (cells,) = gather(files, [CELLS], excluded=excluded, map_partitions=map_partitions)
    return some_cells(cells)


def some_cells(found: Grouped | None) -> Grouped:
    """The cells of a scan. Raises RowsError where there is no row."""
    if found is None:
        raise RowsError("Rows were asked for, but the files hold none: run the sweep, or give another results folder.")
    return found


def trials(cells: Grouped, rule: ScoringRule) -> NDArray[np.int64]:
    """n of each cell: the trials that count under a rule."""
    return _total(cells, [f"trials_{s}" for s in STATUSES if rule.counts(s)])


def passes(cells: Grouped) -> NDArray[np.int64]:
    """c of each cell."""
    return _total(cells, ["trials_PASSED"])


def planned(cells: Grouped) -> NDArray[np.int64]:
    """Trials of each cell, whatever their ending, suspect ones included."""
    return _total(cells, ["suspect", *(f"trials_{s}" for s in STATUSES)])


def _total(cells: Grouped, names: Sequence[str]) -> NDArray[np.int64]:
    return np.asarray(np.sum([cells.measure(name) for name in names], axis=0), dtype=np.int64)
