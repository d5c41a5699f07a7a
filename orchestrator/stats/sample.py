"""What a number is about: cells of trials, the units they are resampled by, and the estimand beside each result.

Knows nothing of suites, agents or rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THESE_TASKS = "these exact tasks"
TASKS_LIKE_THESE = "tasks like these"


@dataclass(frozen=True, slots=True)
class Estimand:
    """What is estimated, as far as arrays can tell: n is trials per task, `unit` is what is resampled."""

    statistic: str
    k: int | None
    tasks: int
    n_min: int
    n_median: float
    n_max: int
    unit: str
    population: str
    method: str

    def sentence(self) -> str:
        """One line to print beside the number."""
        name = self.statistic if self.k is None else self.statistic.replace("k", str(self.k))
        trials = str(self.n_min) if self.n_min == self.n_max else f"{self.n_min} to {self.n_max}"
        return (
            f"{name} over {self.tasks} tasks with {trials} trials each (median {self.n_median:g}), "
            f"for {self.population}; unit {self.unit}; {self.method}."
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, or None with the reason why it is undefined."""

    value: float | None
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with its level; `low` and `high` are None with a reason where it is undefined.

    se: the standard error behind it, df: its degrees of freedom, where it has any.
    """

    value: float | None
    low: float | None
    high: float | None
    level: float
    estimand: Estimand
    se: float | None = None
    df: float | None = None
    reason: str | None = None
    note: str | None = None


def describe(
    statistic: str,
    n: ArrayLike,
    *,
    k: int | None = None,
    unit: str = "none",
    population: str = THESE_TASKS,
    method: str = "point estimate",
) -> Estimand:
    """The estimand of a statistic over tasks with n[T] trials.

    >>> describe("pass^k", [4, 2, 4], k=2).sentence()
    'pass^2 over 3 tasks with 2 to 4 trials each (median 4), for these exact tasks; unit none; point estimate.'
    """
    trials = np.asarray(n)
    if trials.size == 0:
        return Estimand(statistic, k, 0, 0, 0.0, 0, unit, population, method)
    low, high = int(trials.min()), int(trials.max())
    return Estimand(statistic, k, trials.size, low, float(np.median(trials)), high, unit, population, method)


def whole(values: ArrayLike, name: str) -> Ints:
    """A one-dimensional array of counts, as int64. Raises ValueError for anything else."""
    array: NDArray[Any] = np.atleast_1d(np.asarray(values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one entry per task, not of shape {array.shape}.")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    numbers = array.astype(np.float64)
    if not np.all(np.isfinite(numbers)) or np.any(numbers != np.floor(numbers)) or np.any(numbers < 0):
        raise ValueError(f"{name} must hold whole numbers of at least 0.")
    return numbers.astype(np.int64)


def counts(n: ArrayLike, c: ArrayLike) -> tuple[Ints, Ints]:
    """Checked trials n[T] and passes c[T]. Raises ValueError unless 0 <= c <= n and n >= 1."""
    trials, passes = whole(n, "n"), whole(c, "c")
    if trials.shape != passes.shape:
        raise ValueError(f"n has {trials.size} tasks and c has {passes.size}: give one cell per task.")
    if np.any(trials < 1):
        raise ValueError("A task has no trial: leave it out, and say so, before asking for a statistic.")
    if np.any(passes > trials):
        raise ValueError("A task has more passes than trials.")
    return trials, passes


def numbers(values: ArrayLike, name: str = "values") -> Floats:
    """A one-dimensional finite float array. Raises ValueError for NaN, infinity or another shape."""
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be one finite number per task.")
    return array


def groups(cluster: ArrayLike | None, tasks: int) -> tuple[Ints, int, str]:
    """Cluster index per task [T], the number of clusters, and the name of the unit resampled."""
    if cluster is None:
        return np.arange(tasks, dtype=np.int64), tasks, "task"
    labels: NDArray[Any] = np.asarray(cluster)
    if labels.shape != (tasks,):
        raise ValueError(f"cluster must hold one label for each of the {tasks} tasks.")
    names, index = np.unique(labels, return_inverse=True)
    unit = "task" if names.size == tasks else "task cluster"
    return index.astype(np.int64).reshape(-1), int(names.size), unit


def checked_level(level: float) -> float:
    """Raises ValueError unless 0 < level < 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"A confidence level lies between 0 and 1, not at {level}.")
    return level
