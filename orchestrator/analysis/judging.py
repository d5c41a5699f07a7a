"""A model judge against the tests: the four counts of each arm and judge version, and what follows from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.arms import number
from orchestrator.analysis.blocks import Block, Excluded, Wanted
from orchestrator.analysis.cells import ARM_KEYS, checked_statuses
from orchestrator.analysis.context import Settings
from orchestrator.analysis.estimand import Estimand, undefined
from orchestrator.analysis.grouping import Grouped, Partitioner, Sums, group_rows
from orchestrator.analysis.rows import RowFile
from orchestrator.analysis.tables import ArmName, JudgeRow
from orchestrator.core.status import Status
from orchestrator.stats.bootstrap import bootstrap_ratio, percentile
from orchestrator.stats.sample import TASKS_LIKE_THESE, describe

if TYPE_CHECKING:
    from orchestrator.analysis.summary import Loaded

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


def read_judgements(
    files: Sequence[RowFile], *, excluded: Excluded | None = None, map_partitions: Partitioner | None = None
) -> Grouped | None:
    """Counts of agreement by task; None where nothing was judged."""
    found = group_rows(files, JUDGE_KEYS, JudgeReduction(), excluded=excluded, map_partitions=map_partitions)
    if found is None:
        return None
    found = found.where(found.keys["judge_version"].mask(lambda value: value is not None))
    return found if len(found) else None


def judge_rows(judged: Grouped, loaded: "Loaded", settings: Settings) -> Iterator[JudgeRow]:
    """Agreement, sensitivity, specificity, and the score by the judge and by the tests, per arm and judge version.

    Ratios of trials with intervals over tasks; never pooled across versions.
    """
    for (*arm, version), part in judged.groups((*ARM_KEYS, "judge_version")):
        name = ArmName(*(str(value) for value in arm))
        units = part.regroup(["task_cluster", "task"])
        both, alone, missed, neither = (
            units.measure(kind).astype(float) for kind in ("both", "judge_only", "tests_only", "neither")
        )
        every = both + alone + missed + neither
        trials = int(every.sum())
        if not trials:
            continue
        ratios = {
            "agreement": (both + neither, every),
            "sensitivity": (both, both + missed),
            "specificity": (neither, neither + alone),
            "score by the judge": (both + alone, every),
            "score by the tests": (both + missed, every),
        }
        about = _estimand(units, name, trials, loaded, settings)
        told = [quantity for quantity, (_, bottom) in ratios.items() if bottom.sum()]
        seen = describe("judge against tests", every, unit="task", population=TASKS_LIKE_THESE)
        run = bootstrap_ratio(
            np.column_stack([ratios[quantity][0] for quantity in told]),
            np.column_stack([ratios[quantity][1] for quantity in told]),
            rng=settings.rng("judge", *arm, version),
            replicates=min(settings.replicates, 2000),
            estimand=seen,
        )
        found = dict(zip(told, percentile(run, settings.level), strict=True))
        for quantity in ratios:
            none = "passed" if quantity == "sensitivity" else "failed"
            value = (
                number(found[quantity], "percentile bootstrap of the ratio")
                if quantity in found
                else undefined(f"no trial {none} by the tests")
            )
            yield JudgeRow(name, str(version), trials, quantity, value, replace(about, statistic=quantity))
        unread = int(units.measure("unread").sum())
        if unread:
            why = f"{unread} verdicts of the judge are neither a pass nor a failure in words"
            yield JudgeRow(name, str(version), unread, "unread verdicts", undefined(why), about)


def _estimand(units: Grouped, arm: ArmName, trials: int, loaded: "Loaded", settings: Settings) -> Estimand:
    each = np.sum([units.measure(kind) for kind in ("both", "judge_only", "tests_only", "neither")], axis=0)
    each = each[each > 0]
    provenance_days = [str(day) for day in loaded.cells.keys["day"].present()]
    return Estimand(
        "judge against tests", None, int(each.min()), float(np.median(each)), int(each.max()), len(each), "task",
        "tasks like these", str(settings.rule), loaded.policies.sentence(arm),
        len([s for s in loaded.cells.keys["snapshot_id"].present() if s is not None]), arm.resources,
        len(provenance_days), provenance_days[0], provenance_days[-1],
    )  # fmt: skip
