"""Outcomes by repeat: the runs of an arm, their scores and the test of how they differ."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.blocks import Block, Wanted
from orchestrator.analysis.cells import ARM_KEYS, checked_statuses
from orchestrator.analysis.context import Floats, Settings
from orchestrator.analysis.grouping import Grouped, GroupedBy, Sums
from orchestrator.analysis.tables import ArmName, RunRow, RunSummaryRow
from orchestrator.core.status import ScoringRule, Status
from orchestrator.stats.runs import RunToRun, run_to_run

RUN_KEYS = (*ARM_KEYS, "sweep", "wave", "day", "repeat", "task", "node")


@dataclass(frozen=True, slots=True)
class RunReduction:
    """n: final trials, not suspect, whose status `counts`; c: those of them that passed."""

    counts: Callable[[Status], bool]

    @property
    def wanted(self) -> Wanted:
        return Wanted(("status",), (), ("final", "suspect"))

    def reduce(self, block: Block, code: NDArray[np.int64], size: int) -> dict[str, Sums]:
        status = checked_statuses(block.coded["status"])
        trial = block.flags["final"] & ~block.flags["suspect"]
        counts = trial & np.array([self.counts(s) for s in status])[block.coded["status"].codes]
        passed = counts & np.array([s is Status.PASSED for s in status])[block.coded["status"].codes]
        return {"n": np.bincount(code[counts], minlength=size), "c": np.bincount(code[passed], minlength=size)}


def runs_gathering(rule: ScoringRule) -> GroupedBy:
    """Trials of all runs: 1 entry per trial, so memory grows with trials, not with attempts or columns."""
    return GroupedBy(RUN_KEYS, RunReduction(rule.counts))


def run_rows(runs: Grouped) -> Iterator[RunRow]:
    """The score of each repeat of each wave, over the tasks that have a verdict in it."""
    counted = runs.where(runs.measure("n") > 0)
    ones = Grouped(
        counted.keys,
        {"n": counted.measure("n"), "c": counted.measure("c"), "tasks": np.ones(len(counted), dtype=np.int64)},
    )
    by_run = ones.regroup([*ARM_KEYS, "sweep", "wave", "repeat"])
    days = counted.regroup([*ARM_KEYS, "sweep", "wave", "repeat", "day"])
    first_day: dict[tuple[object, ...], str] = {}
    names = (*ARM_KEYS, "sweep", "wave", "repeat")
    for *key, day in zip(*(days.keys[name].decode() for name in (*names, "day")), strict=True):
        first_day.setdefault(tuple(key), str(day))
    columns = [by_run.keys[name].decode() for name in names]
    for key_values, n, c in zip(
        zip(*columns, strict=True), by_run.measure("n").tolist(), by_run.measure("c").tolist(), strict=True
    ):
        arm = ArmName(*(str(value) for value in key_values[:4]))
        wave, repeat = int(str(key_values[5])), int(str(key_values[6]))
        yield RunRow(arm, wave, first_day[key_values], repeat, int(n), c / n if n else None)


def outcome_matrix(runs: Grouped) -> Floats:
    """Outcomes of one arm [tasks, runs], NaN where a run has no verdict on the task; runs in order."""
    tasks = runs.keys["task"]
    codes = np.zeros(len(runs), dtype=np.int64)
    for name in ("sweep", "wave", "repeat"):
        codes = codes * len(runs.keys[name].values) + runs.keys[name].codes
    _, column = np.unique(codes, return_inverse=True)
    _, row = np.unique(tasks.codes, return_inverse=True)
    table = np.full((row.max() + 1, column.max() + 1), np.nan)
    n = runs.measure("n")
    has = n > 0
    table[row[has], column[has]] = runs.measure("c")[has] / n[has]
    return table


def run_summary_rows(runs: Grouped, settings: Settings) -> list[RunSummaryRow]:
    """How the runs of each arm differ. Shuffles: 9,999, fewer (199 at least) for more than 20,000 trials in all."""
    arms = runs.groups(ARM_KEYS)
    shuffles = int(np.clip(2e8 / max(1, len(runs)), 199, 9_999))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda part: _run_summary(part[0], part[1], settings, shuffles), arms))


def _run_summary(arm: tuple[object, ...], part: Grouped, settings: Settings, shuffles: int) -> RunSummaryRow:
    name = ArmName(*(str(value) for value in arm))
    rng = settings.rng("runs", *arm)
    found = run_to_run(outcome_matrix(part), rng=rng, level=settings.level, shuffles=shuffles)
    p_value = found.test.p if found.test else None
    return RunSummaryRow(
        name,
        len(found.scores),
        found.low,
        found.high,
        found.sd,
        found.predicted_plugin,
        found.predicted_unbiased,
        p_value,
        found.test.p_uneven if found.test else None,
        found.must_differ,
        found.reason or found.note,
        _sentence(found, p_value),
    )


def _sentence(found: RunToRun, p_value: float | None) -> str:
    if found.sd is None or found.must_differ is None or found.low is None or found.high is None:
        return found.reason or "Runs cannot be compared."
    told = (
        f"{len(found.scores)} runs over the same {found.estimand.tasks} tasks scored {100 * found.low:.1f} to "
        f"{100 * found.high:.1f}% (SD {100 * found.sd:.1f}, expected {100 * (found.predicted_unbiased or 0):.1f} from "
        f"independent trials); two single runs must differ by {100 * found.must_differ:.1f} points to be told apart"
    )
    if p_value is None:
        return told + "."
    odd = p_value < 0.05 and found.predicted_unbiased is not None
    way = "more even" if odd and found.sd < (found.predicted_unbiased or 0) else "more uneven"
    verdict = f"{way} than chance" if odd else "as chance would have it"
    return f"{told}; shuffle test p = {p_value:.3g}: {verdict}."
