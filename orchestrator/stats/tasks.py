"""Which tasks are flaky, never solved or always solved, and so what each says about the suite."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.sample import Estimand, Ints, counts, describe


@dataclass(frozen=True, slots=True)
class TaskLists:
    """Indices into the cells. flaky: 0 < c < n, the most even first. never: 0 of n, suspect the task before
    the agent. always: n of n, saturated. single: tasks with one trial, which cannot show that they are flaky."""

    flaky: tuple[int, ...]
    never: tuple[int, ...]
    always: tuple[int, ...]
    single: tuple[int, ...]
    estimand: Estimand
    note: str | None = None


def task_lists(n: ArrayLike, c: ArrayLike) -> TaskLists:
    """Sort tasks by what their outcomes say; flaky, never and always part the tasks.

    >>> lists = task_lists([5, 5, 5, 5], [5, 0, 4, 2])
    >>> lists.flaky, lists.never, lists.always
    ((3, 2), (1,), (0,))
    """
    trials, passes = counts(n, c)
    mixed = np.flatnonzero((passes > 0) & (passes < trials))
    uneven = np.abs(passes[mixed] / trials[mixed] - 0.5)
    single = _indices(np.flatnonzero(trials == 1))
    note = f"{len(single)} tasks have one trial: they cannot show that they are flaky." if single else None
    return TaskLists(
        _indices(mixed[np.argsort(uneven, kind="stable")]),
        _indices(np.flatnonzero(passes == 0)),
        _indices(np.flatnonzero(passes == trials)),
        single,
        describe("task lists", trials),
        note,
    )


def _indices(found: Ints) -> tuple[int, ...]:
    return tuple(int(i) for i in found)
