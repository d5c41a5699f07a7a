"""pass@k and pass^k from cells (n trials, c passes), for one task, for an arm, and as curves over k.

pass@k = 1 - C(n-c, k) / C(n, k): Chen et al. 2021, arXiv 2107.03374.
pass^k = C(c, k) / C(n, k): Yao et al. 2024, arXiv 2406.12045.
Both are unbiased; plugging c/n into 1-(1-p)^k or p^k is not (too low, and too high). Where k > n neither exists,
and it is refused for that task: the habit of returning 1.0 there has put wrong figures into print.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.sample import Estimand, Estimate, Floats, Ints, counts, describe

Statistic = Literal["pass@k", "pass^k"]
TaskSet = Literal["common", "per k"]


@lru_cache(maxsize=1 << 16)
def subset_ratio(n: int, c: int, k: int) -> float:
    """C(c, k) / C(n, k) for k <= n, as a product of min(k, n-c) ratios: exact to 1e-12 up to n = 10,000.

    >>> subset_ratio(10, 9, 5), subset_ratio(10, 2, 3)
    (0.5, 0.0)
    """
    if k > c:
        return 0.0
    # C(c,k)/C(n,k) = C(n-k,n-c)/C(n,n-c): take the shorter product.
    top, factors = (c, k) if k <= n - c else (n - k, n - c)
    i = np.arange(factors)
    return float(np.prod((top - i) / (n - i)))


def pass_at_k_task(n: int, c: int, k: int) -> float | None:
    """pass@k of one task: the chance that a random k of its n trials hold a pass. None where k > n.

    >>> round(pass_at_k_task(10, 7, 3), 4), pass_at_k_task(1, 0, 5)
    (0.9917, None)
    """
    _checked_k(k)
    counts(n, c)
    return None if k > n else 1.0 - subset_ratio(n, n - c, k)


def pass_hat_k_task(n: int, c: int, k: int) -> float | None:
    """pass^k of one task: the chance that a random k of its n trials all pass. None where k > n.

    >>> pass_hat_k_task(6, 3, 3), pass_hat_k_task(2, 2, 3)
    (0.05, None)
    """
    _checked_k(k)
    counts(n, c)
    return None if k > n else subset_ratio(n, c, k)


def task_curve(n: ArrayLike, c: ArrayLike, k_max: int, statistic: Statistic = "pass@k") -> Floats:
    """Values of each task for k = 1..k_max, shape [T, k_max]. Raises ValueError where k_max exceeds any n.

    >>> task_curve([4, 4], [4, 2], 2, "pass^k").round(4).tolist()
    [[1.0, 1.0], [0.5, 0.1667]]
    """
    _checked_k(k_max)
    trials, passes = counts(n, c)
    if trials.size and k_max > trials.min():
        raise ValueError(f"k = {k_max} exceeds the {trials.min()} trials of a task: it is undefined there.")
    held = passes if _checked_statistic(statistic) == "pass^k" else trials - passes
    pairs, back = _distinct(trials, held)
    i = np.arange(k_max)
    factors = np.maximum(pairs[:, 1:] - i, 0) / (pairs[:, :1] - i)
    ratio: Floats = np.cumprod(factors, axis=1, dtype=np.float64)[back]
    return ratio if statistic == "pass^k" else 1.0 - ratio


def task_values(n: ArrayLike, c: ArrayLike, k: int, statistic: Statistic = "pass@k") -> Floats:
    """Values of each task at one k, shape [T]. Raises ValueError where k exceeds any n.

    >>> task_values([10, 10], [7, 0], 3, "pass@k").round(4).tolist()
    [0.9917, 0.0]
    """
    _checked_k(k)
    trials, passes = counts(n, c)
    if trials.size and k > trials.min():
        raise ValueError(f"k = {k} exceeds the {trials.min()} trials of a task: it is undefined there.")
    held = passes if _checked_statistic(statistic) == "pass^k" else trials - passes
    pairs, back = _distinct(trials, held)
    ratio = np.array([subset_ratio(int(a), int(b), k) for a, b in pairs], dtype=np.float64)[back]
    return ratio if statistic == "pass^k" else 1.0 - ratio


def _distinct(n: Ints, c: Ints) -> tuple[Ints, Ints]:
    """The distinct (n, c), shape [D, 2], and which of them each task has [T]."""
    width = int(n.max(initial=0)) + 1
    codes, back = np.unique(n * width + c, return_inverse=True)
    return np.stack([codes // width, codes % width], axis=1), back.reshape(-1)


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Estimate:
    """pass@k of an arm: the mean over tasks. None with a reason where a task has fewer than k trials.

    >>> pass_at_k([10, 10], [10, 0], 3).value
    0.5
    >>> pass_at_k([10, 2], [10, 0], 3).reason
    '1 of 2 tasks has fewer than k = 3 trials (smallest n = 2): pass@3 is undefined for it.'
    """
    return _mean_at(n, c, k, "pass@k")


def pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> Estimate:
    """pass^k of an arm: the mean over tasks. None with a reason where a task has fewer than k trials.

    >>> pass_hat_k([10, 10], [10, 5], 10).value
    0.5
    """
    return _mean_at(n, c, k, "pass^k")


@dataclass(frozen=True, slots=True)
class Curve:
    """A statistic over k. tasks[i] is the size of the task set at ks[i]; values[i] is None with reasons[i]."""

    statistic: Statistic
    ks: tuple[int, ...]
    values: tuple[float | None, ...]
    tasks: tuple[int, ...]
    reasons: tuple[str | None, ...]
    task_set: TaskSet
    estimand: Estimand
    note: str | None = None


def curve(
    n: ArrayLike,
    c: ArrayLike,
    statistic: Statistic = "pass@k",
    *,
    k_max: int | None = None,
    task_set: TaskSet = "common",
) -> Curve:
    """The statistic for k = 1..K.

    task_set "common": all tasks at every k, and K is the smallest n; larger k are refused with a reason.
    "per k": at each k the tasks with n >= k, whose number stands in `tasks`; points of different task sets are
    not comparable, which `note` says. k_max defaults to the smallest n ("common") or the largest ("per k").

    >>> curve([3, 3], [3, 1], "pass^k").values
    (0.6666666666666666, 0.5, 0.5)
    >>> curve([3, 1], [3, 1], "pass^k", task_set="per k").tasks
    (2, 1, 1)
    """
    trials, passes = counts(n, c)
    if not trials.size:
        raise ValueError("A curve needs at least one task.")
    last = k_max or int(trials.min() if task_set == "common" else trials.max())
    points = [_point(trials, passes, k, statistic, task_set) for k in range(1, last + 1)]
    sizes = tuple(size for _, size, _ in points)
    note = None
    if len({size for size in sizes if size}) > 1:
        note = f"The task set shrinks from {max(sizes)} to {min(sizes)} tasks along k: points are not comparable."
    return Curve(
        statistic,
        tuple(range(1, last + 1)),
        tuple(value for value, _, _ in points),
        sizes,
        tuple(reason for _, _, reason in points),
        task_set,
        describe(statistic, trials, method="mean over tasks of the unbiased estimator"),
        note,
    )


def _point(
    n: np.ndarray, c: np.ndarray, k: int, statistic: Statistic, task_set: TaskSet
) -> tuple[float | None, int, str | None]:
    enough = n >= k
    if task_set == "common" and not enough.all():
        return None, 0, _refusal(n, k, statistic)
    if not enough.any():
        return None, 0, f"No task has k = {k} trials."
    return float(task_values(n[enough], c[enough], k, statistic).mean()), int(enough.sum()), None


def _mean_at(n: ArrayLike, c: ArrayLike, k: int, statistic: Statistic) -> Estimate:
    _checked_k(k)
    trials, passes = counts(n, c)
    about = describe(statistic, trials, k=k, method="mean over tasks of the unbiased estimator")
    if not trials.size:
        return Estimate(None, about, "There is no task.")
    if trials.min() < k:
        return Estimate(None, about, _refusal(trials, k, statistic))
    return Estimate(float(task_values(trials, passes, k, statistic).mean()), about)


def _refusal(n: np.ndarray, k: int, statistic: Statistic) -> str:
    short = int((n < k).sum())
    has, it = ("has", "it") if short == 1 else ("have", "them")
    name = statistic.replace("k", str(k))
    return (
        f"{short} of {n.size} tasks {has} fewer than k = {k} trials (smallest n = {n.min()}): "
        f"{name} is undefined for {it}."
    )


def _checked_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}.")


def _checked_statistic(statistic: str) -> str:
    if statistic not in ("pass@k", "pass^k"):
        raise ValueError(f"The statistic is 'pass@k' or 'pass^k', not {statistic!r}.")
    return statistic
