"""The cells of one suite as matrices task x arm, and the words that every estimand of it shares."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.cells import ARM_KEYS, passes, trials
from orchestrator.analysis.estimand import Estimand, retry_sentence
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.tables import ArmName
from orchestrator.core.status import ScoringRule

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to aggregate. k_max: largest k of curves; margin: of equivalence, in score; level: of intervals.

    quoted_ks: further k whose pass@k and pass^k get quoted intervals beside the largest k. baseline: the resource
    setting others are compared with, else the one with the least. horizon: waves that were planned before the first.
    """

    rule: ScoringRule = ScoringRule.DEFAULT
    seed: int = 0
    replicates: int = 10_000
    level: float = 0.95
    k_max: int = 10
    margin: float = 0.02
    all_pairs_at_most: int = 12
    flips: int = 20_000
    quoted_ks: tuple[int, ...] = ()
    baseline: str | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", ScoringRule(self.rule))
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}, but must be 0 or more.")

    def rng(self, *purpose: object) -> np.random.Generator:
        """A generator of its own for each purpose, so that no result depends on what else was computed."""
        return np.random.default_rng([self.seed, zlib.crc32("/".join(map(str, purpose)).encode())])


@dataclass(frozen=True, slots=True)
class Policies:
    """Retry policies by arm, from the rows."""

    by_arm: dict[tuple[object, ...], tuple[object, ...]]

    @classmethod
    def of(cls, profiles: Grouped) -> "Policies":
        return cls({arm: tuple(part.keys["retry_max"].present()) for arm, part in profiles.groups(ARM_KEYS)})

    def sentence(self, arm: ArmName) -> str:
        key = (arm.suite, arm.agent, arm.resources, arm.lane)
        return retry_sentence(self.by_arm.get(key, ()))


@dataclass(frozen=True, slots=True)
class SuiteCells:
    """One suite: tasks in order, clusters, and for each arm what was counted. Matrices are [task, arm].

    cells: of each arm. by_task: the same summed over everything but the task. about: of each arm, what all its
    estimands share.
    """

    suite: str
    tasks: tuple[str, ...]
    clusters: NDArray[np.str_] | None
    arms: tuple[ArmName, ...]
    cells: tuple[Grouped, ...]
    by_task: tuple[Grouped, ...]
    about: tuple[Estimand, ...]
    n: Whole
    c: Whole
    score: Floats
    score_sq: Floats
    cost: Floats

    @classmethod
    def of(cls, suite: str, cells: Grouped, rule: ScoringRule) -> "SuiteCells":
        """Sums over snapshots, waves and days."""
        parts = cells.groups(ARM_KEYS)
        tasks = tuple(str(task) for task in cells.keys["task"].present())
        place = {task: index for index, task in enumerate(tasks)}
        shape = (len(tasks), len(parts))
        n, c = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        score, square, cost = (np.zeros(shape) for _ in range(3))
        sums = tuple(part.regroup(["task"]) for _, part in parts)
        for column, by_task in enumerate(sums):
            rows = np.array([place[str(task)] for task in by_task.keys["task"].decode()])
            n[rows, column], c[rows, column] = trials(by_task, rule), passes(by_task)
            score[rows, column] = by_task.measure("score_sum")
            square[rows, column] = by_task.measure("score_sumsq")
            cost[rows, column] = by_task.measure("cost_sum")
        arms = tuple(ArmName(*(str(value) for value in key)) for key, _ in parts)
        members = tuple(part for _, part in parts)
        about = tuple(
            _about(arm, part, n[:, at], rule) for at, (arm, part) in enumerate(zip(arms, members, strict=True))
        )
        return cls(suite, tasks, _clusters(cells, tasks), arms, members, sums, about, n, c, score, square, cost)

    @property
    def graded(self) -> bool:
        """Whether scores say more than passed or not."""
        return bool(np.any(np.abs(self.score - self.c) > 1e-9))

    def cluster_of(self, rows: NDArray[np.bool_]) -> NDArray[np.str_] | None:
        return None if self.clusters is None else self.clusters[rows]

    def with_trials(self, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Which tasks have a trial under every one of the arms; none where no arm is named."""
        found: NDArray[np.bool_] = np.all(self.n[:, list(columns)] > 0, axis=1)
        return found if len(columns) else np.zeros(len(self.tasks), dtype=np.bool_)

    @property
    def unit(self) -> str:
        return "task" if self.clusters is None else "task cluster"


def _clusters(cells: Grouped, tasks: Sequence[str]) -> NDArray[np.str_] | None:
    """The cluster of each task, or None where every task is its own."""
    pairs = cells.regroup(["task", "task_cluster"])
    of_task = dict(zip(pairs.keys["task"].decode(), pairs.keys["task_cluster"].decode(), strict=True))
    names = [str(of_task[task]) if of_task[task] is not None else f"task {task}" for task in tasks]
    return np.array(names) if len(set(names)) < len(tasks) else None


def estimand(
    statistic: str,
    suite: SuiteCells,
    column: int,
    policies: Policies,
    settings: Settings,
    *,
    k: int | None = None,
    unit: str | None = None,
    population: str = "tasks like these",
) -> Estimand:
    """The estimand of a statistic of one arm over the tasks that have trials."""
    return replace(
        suite.about[column], statistic=statistic, k=k, unit=unit or suite.unit, population=population,
        rule=str(settings.rule), retry_policy=policies.sentence(suite.arms[column]),
    )  # fmt: skip


def _about(arm: ArmName, cells: Grouped, n: Whole, rule: ScoringRule) -> Estimand:
    """What the estimands of an arm share: its trials per task [task], settings, days and snapshots."""
    n = n[n > 0]
    days = [str(day) for day in cells.keys["day"].present()]
    return Estimand(
        "",
        None,
        int(n.min()) if len(n) else 0,
        float(np.median(n)) if len(n) else 0.0,
        int(n.max()) if len(n) else 0,
        len(n),
        "task",
        "tasks like these",
        str(rule),
        "",
        len([value for value in cells.keys["snapshot_id"].present() if value is not None]),
        arm.resources,
        len(days),
        days[0],
        days[-1],
    )
