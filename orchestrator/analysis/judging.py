"""A model judge against the tests: the four counts of each arm and judge version, and what follows from them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.arms import number
from orchestrator.analysis.blocks import Block, Wanted
from orchestrator.analysis.cells import ARM_KEYS, checked_statuses
from orchestrator.analysis.context import Settings
from orchestrator.analysis.estimand import Estimand, undefined
from orchestrator.analysis.grouping import Grouped, GroupedBy, Sums
from orchestrator.analysis.tables import ArmName, JudgeRow
from orchestrator.core.status import Status
from orchestrator.stats.intervals import korn_graubard
from orchestrator.stats.judges import agreement
from orchestrator.stats.sample import Interval

if TYPE_CHECKING:
    from orchestrator.analysis.summary import Loaded

Whole = NDArray[np.int64]
YES = frozenset({"pass", "passed", "yes", "true", "correct", "solved", "1", "c"})
NO = frozenset({"fail", "failed", "no", "false", "incorrect", "unsolved", "0", "i"})
JUDGE_KEYS = (*ARM_KEYS, "judge_version", "task", "task_cluster")


@dataclass(frozen=True, slots=True)
class JudgeReduction:
    """both, judge_only, tests_only, neither: trials by what the judge and the tests say; unread: other words."""

    @property
    def wanted(self) -> Wanted:
        return Wanted(("status", "judge_verdict"), (), ("final", "suspect"))

    def reduce(self, block: Block, code: NDArray[np.int64], size: int) -> dict[str, Sums]:
        status = checked_statuses(block.coded["status"])
        trial = block.flags["final"] & ~block.flags["suspect"]
        trial &= np.array([s.has_verdict for s in status])[block.coded["status"].codes]
        passed = np.array([s is Status.PASSED for s in status])[block.coded["status"].codes]
        words = block.coded["judge_verdict"]
        yes = words.mask(lambda value: str(value).lower() in YES)
        no = words.mask(lambda value: str(value).lower() in NO)
        told = words.mask(lambda value: value is not None)
        masks = {"both": yes & passed, "judge_only": yes & ~passed, "tests_only": no & passed, "neither": no & ~passed}
        masks["unread"] = told & ~yes & ~no
        return {name: np.bincount(code[trial & mask], minlength=size) for name, mask in masks.items()}


JUDGEMENTS = GroupedBy(JUDGE_KEYS, JudgeReduction())


def judged_trials(found: Grouped) -> Grouped | None:
    """The counts of agreement by task of what a judge graded; None where nothing was judged."""
    found = found.where(found.keys["judge_version"].mask(lambda value: value is not None))
    return found if len(found) else None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Judged trials of one arm by task: [task] counts of what the judge and the tests say."""

    tasks: tuple[str, ...]
    both: NDArray[np.int64]
    judge_only: NDArray[np.int64]
    tests_only: NDArray[np.int64]
    neither: NDArray[np.int64]

    @classmethod
    def of(cls, part: Grouped) -> "Verdicts":
        by = part if set(part.keys) == {"task"} else part.regroup(["task"])
        kinds = [by.measure(name).astype(np.int64) for name in ("both", "judge_only", "tests_only", "neither")]
        return cls(tuple(str(task) for task in by.keys["task"].decode()), *kinds)

    def trials(self, places: Mapping[str, int] | None = None) -> tuple[Whole, Whole, Whole]:
        """One entry per trial: the judge's verdict, that of the tests, and the task's place here or in `places`."""
        counts = np.stack([self.both, self.judge_only, self.tests_only, self.neither], axis=1)
        flat, size = counts.ravel(), len(self.tasks)
        judge, tests = np.tile([1, 1, 0, 0], size), np.tile([1, 0, 1, 0], size)
        at = np.arange(size) if places is None else np.array([places[task] for task in self.tasks], dtype=np.int64)
        return np.repeat(judge, flat), np.repeat(tests, flat), np.repeat(np.repeat(at, 4), flat)


def judge_rows(judged: Grouped, loaded: "Loaded", settings: Settings) -> Iterator[JudgeRow]:
    """A judge against the tests, per arm and judge version: agreement with and without chance, sensitivity and
    specificity, and the score as each sees it. Never pooled across versions.
    """
    for (*arm, version), part in judged.groups((*ARM_KEYS, "judge_version")):
        name = ArmName(*(str(value) for value in arm))
        units = part.regroup(["task"])
        judge, tests, task = Verdicts.of(units).trials()
        unread = int(units.measure("unread").sum())
        if not len(judge) and not unread:
            continue
        if len(judge):
            about = judged_estimand(units, name, loaded, settings)
            for quantity, found in _quantities(judge, tests, task, settings.level):
                said = found.estimand.method if found.value is not None else ""
                yield JudgeRow(
                    name, str(version), len(judge), quantity, number(found, said), replace(about, statistic=quantity)
                )
        if unread:
            why = f"{unread} verdicts of the judge are neither a pass nor a failure in words"
            about = judged_estimand(units, name, loaded, settings)
            yield JudgeRow(name, str(version), unread, "unread verdicts", undefined(why), about)


def _quantities(judge: Whole, tests: Whole, task: Whole, level: float) -> Iterator[tuple[str, Interval]]:
    found = agreement(judge, tests, task, level=level)
    yield "agreement", found.agreement
    yield "Cohen's kappa", found.kappa
    yield "sensitivity", found.sensitivity
    yield "specificity", found.specificity
    yield "PABAK", found.pabak
    yield "Gwet's AC1", found.ac1
    for quantity, values in (("score by the judge", judge), ("score by the tests", tests)):
        yield quantity, korn_graubard(values.astype(np.float64), cluster=task, level=level, statistic=quantity)


def judged_estimand(units: Grouped, arm: ArmName, loaded: "Loaded", settings: Settings) -> Estimand:
    """The estimand of judged trials, whose units are tasks."""
    units = units if set(units.keys) == {"task"} else units.regroup(["task"])
    each = np.sum([units.measure(kind) for kind in ("both", "judge_only", "tests_only", "neither")], axis=0)
    each = each[each > 0] if each.any() else units.measure("unread")
    days = loaded.days
    return Estimand(
        "judge against tests", None, int(each.min()), float(np.median(each)), int(each.max()), len(each), "task",
        "tasks like these", str(settings.rule), loaded.policies.sentence(arm),
        loaded.snapshots, arm.resources, len(days), days[0], days[-1],
    )  # fmt: skip
