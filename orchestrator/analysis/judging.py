"""A model judge against the tests: the four counts of each arm and judge version, and what follows from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.blocks import Block, Excluded, Wanted
from orchestrator.analysis.cells import ARM_KEYS, checked_statuses
from orchestrator.analysis.context import Settings
from orchestrator.analysis.grouping import Grouped, Partitioner, Sums, group_rows
from orchestrator.analysis.rows import RowFile
from orchestrator.analysis.tables import JudgeRow
from orchestrator.core.status import Status

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
    """Agreement, kappa, sensitivity, specificity and the judge's own score, for each arm and judge version."""
    del judged, loaded, settings
    yield from ()
