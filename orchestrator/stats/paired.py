"""Two arms on the same tasks: mean difference, its interval and test, helped and hurt tasks, correlation.

The difference is always second minus first: above 0, the second arm is better (or dearer). Knows nothing of which
arms may be compared; whoever calls has matched the tasks. Source: Miller 2024 (arXiv 2411.00640), section 4.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.intervals import mean_interval, normal_quantile
from orchestrator.stats.passk import Statistic, task_values
from orchestrator.stats.sample import (
    TASKS_LIKE_THESE,
    THESE_TASKS,
    Estimand,
    Floats,
    Interval,
    Ints,
    counts,
    describe,
    numbers,
    whole,
)
from orchestrator.stats.signflip import FLIPS, SignFlip, sign_flip
from orchestrator.stats.variance import trial_variances

_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Paired:
    """A comparison of two arms over the same tasks; everything is None with `reason` where it is undefined.

    difference: mean of second - first with a t interval (CR2) over tasks like these. exact_tasks: the same mean
    with the noise within these exact tasks only, where the inputs tell it. test: sign-flip. helped, hurt, tied:
    tasks where the second arm is higher, lower, equal. correlation: Pearson's, of the task values of both arms.
    """

    first: float | None
    second: float | None
    difference: Interval | None
    exact_tasks: Interval | None
    test: SignFlip | None
    helped: int | None
    hurt: int | None
    tied: int | None
    correlation: float | None
    correlation_reason: str | None
    estimand: Estimand
    reason: str | None = None


def paired_values(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    n: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    flips: int = FLIPS,
    statistic: str = "difference",
    k: int | None = None,
) -> Paired:
    """Compare one value per task of two arms, first [T] and second [T]; n [T]: trials per task and arm.

    The interval is undefined below 2 tasks (or clusters), the correlation where an arm is the same on every task.

    >>> found = paired_values([0.2, 0.5, 0.9], [0.6, 0.5, 1.0], rng=np.random.default_rng(0))
    >>> found.helped, found.hurt, found.tied, round(found.difference.value, 4), found.test.p
    (2, 0, 1, 0.1667, 0.5)
    """
    a, b = numbers(first, "first"), numbers(second, "second")
    if a.shape != b.shape:
        raise ValueError(
            f"A paired comparison needs the same tasks: {a.size} in the first arm, {b.size} in the second."
        )
    trials = np.ones(a.size, dtype=np.int64) if n is None else n
    about = describe(statistic, trials, k=k, unit="task", population=TASKS_LIKE_THESE, method="paired by task")
    if a.size == 0:
        return _undefined(about, "The arms share no task.")
    gap = b - a
    gap[np.abs(gap) < _TIE] = 0.0
    correlation, why = _correlation(a, b)
    return Paired(
        float(a.mean()),
        float(b.mean()),
        mean_interval(gap, cluster=cluster, level=level, n=trials, statistic=statistic),
        None,
        sign_flip(gap, rng=rng, cluster=cluster, n=trials, flips=flips, statistic=statistic),
        int((gap > 0).sum()),
        int((gap < 0).sum()),
        int((gap == 0).sum()),
        correlation,
        why,
        about,
    )


def paired_pass(
    n_first: ArrayLike,
    c_first: ArrayLike,
    n_second: ArrayLike,
    c_second: ArrayLike,
    k: int = 1,
    kind: Statistic = "pass^k",
    *,
    rng: np.random.Generator,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    flips: int = FLIPS,
) -> Paired:
    """Compare pass^k or pass@k from cells n [T], c [T] of both arms; k = 1 is pass@1, which has `exact_tasks` too.

    None with a reason where a task of either arm has fewer than k trials.

    >>> found = paired_pass([4, 4, 4], [4, 2, 0], [4, 4, 4], [4, 4, 1], rng=np.random.default_rng(0))
    >>> found.difference.value, found.estimand.statistic, round(found.exact_tasks.se, 4)
    (0.25, 'pass@1', 0.1273)
    """
    (na, ca), (nb, cb) = counts(n_first, c_first), counts(n_second, c_second)
    _same(na, nb)
    trials, name = np.minimum(na, nb), "pass@1" if k == 1 else kind
    if trials.size and k > trials.min():
        about = describe(name, trials, k=k, unit="task", population=TASKS_LIKE_THESE, method="paired by task")
        short = int((trials < k).sum())
        return _undefined(about, f"{short} of {trials.size} tasks have fewer than k = {k} trials in one arm.")
    a, b = task_values(na, ca, k, kind), task_values(nb, cb, k, kind)
    found = paired_values(
        a, b, rng=rng, n=trials, cluster=cluster, level=level, flips=flips, statistic=name, k=None if k == 1 else k
    )
    return found if k > 1 else _with_exact(found, na, ca, None, nb, cb, None, level)


def paired_score(
    n_first: ArrayLike,
    total_first: ArrayLike,
    n_second: ArrayLike,
    total_second: ArrayLike,
    *,
    rng: np.random.Generator,
    total_sq_first: ArrayLike | None = None,
    total_sq_second: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    flips: int = FLIPS,
    statistic: str = "score",
) -> Paired:
    """Compare the mean per trial of anything summed in cells: graded score, cost in US dollars, turns, seconds.

    total [T] is the sum over the n [T] trials of a task, total_sq the sum of squares; with both, `exact_tasks`.

    >>> found = paired_score([2, 2], [1.0, 1.5], [2, 2], [1.2, 1.9], rng=np.random.default_rng(0), statistic="cost")
    >>> round(found.difference.value, 3), found.exact_tasks
    (0.15, None)
    """
    na, nb = whole(n_first, "n_first"), whole(n_second, "n_second")
    a, b = numbers(total_first, "total_first"), numbers(total_second, "total_second")
    _same(na, nb)
    if a.shape != na.shape or b.shape != nb.shape or np.any(na < 1) or np.any(nb < 1):
        raise ValueError("Each task needs one total and at least one trial in both arms.")
    found = paired_values(
        a / na, b / nb, rng=rng, n=np.minimum(na, nb), cluster=cluster, level=level, flips=flips, statistic=statistic
    )
    if total_sq_first is None or total_sq_second is None:
        return found
    return _with_exact(found, na, a, numbers(total_sq_first), nb, b, numbers(total_sq_second), level)


def _with_exact(
    found: Paired,
    na: Ints,
    a: ArrayLike,
    a_sq: Floats | None,
    nb: Ints,
    b: ArrayLike,
    b_sq: Floats | None,
    level: float,
) -> Paired:
    """The comparison with the interval for these exact tasks: z and sqrt(sum s_a^2/n_a + s_b^2/n_b) / T."""
    if found.difference is None:
        return found
    value, trials = found.difference.value, np.minimum(na, nb)
    about = describe(
        found.estimand.statistic, trials, unit="trial", population=THESE_TASKS, method="within-task variance, normal"
    )
    if trials.min() < 2:
        reason = f"{int((trials < 2).sum())} tasks have a single trial: the noise within them is unknown."
        exact = Interval(value, None, None, level, about, reason=reason)
    else:
        parts = trial_variances(na, a, a_sq)[1] / na + trial_variances(nb, b, b_sq)[1] / nb
        se = float(parts.sum() ** 0.5 / trials.size)
        half = normal_quantile(level) * se
        note = None if se > 0 else "No task varied: the estimated noise is 0, which understates it."
        mean = 0.0 if value is None else value
        exact = Interval(mean, mean - half, mean + half, level, about, se, None, None, note)
    return replace(found, exact_tasks=exact)


def _correlation(a: Floats, b: Floats) -> tuple[float | None, str | None]:
    if a.size < 3:
        return None, "Below 3 tasks a correlation says nothing."
    for name, values in (("first", a), ("second", b)):
        if np.ptp(values) < _TIE:
            return None, f"The {name} arm is the same on every task."
    return float(np.clip(np.corrcoef(a, b)[0, 1], -1.0, 1.0)), None


def _same(a: Ints, b: Ints) -> None:
    if a.shape != b.shape:
        raise ValueError(
            f"A paired comparison needs the same tasks: {a.size} in the first arm, {b.size} in the second."
        )


def _undefined(about: Estimand, reason: str) -> Paired:
    return Paired(None, None, None, None, None, None, None, None, None, None, about, reason)
