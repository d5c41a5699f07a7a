"""Intervals that need no resampling: cluster-robust, Wilson, Korn-Graubard, and which of all intervals is quoted.

"Tasks like these" intervals carry the spread between tasks; "these exact tasks" intervals only the noise within
them. Cluster-robust: Liang and Zeger 1986, Bell and McCaffrey 2002; Wilson 1927; Korn and Graubard 1998.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.binomial import beta_interval as beta_interval
from orchestrator.stats.binomial import clopper_pearson as clopper_pearson
from orchestrator.stats.binomial import normal_quantile as normal_quantile
from orchestrator.stats.binomial import t_quantile as t_quantile
from orchestrator.stats.binomial import wilson as wilson
from orchestrator.stats.bootstrap import REPLICATES, bootstrap, percentile
from orchestrator.stats.sample import (
    TASKS_LIKE_THESE,
    THESE_TASKS,
    Estimand,
    Floats,
    Interval,
    counts,
    describe,
    groups,
    numbers,
)
from orchestrator.stats.variance import trial_variances

Correction = Literal["CR0", "CR1", "CR2", "CR3"]
QUOTE_BOOTSTRAP_FROM = 100


@dataclass(frozen=True, slots=True)
class ClusterError:
    """The standard error of a mean from cluster sums; se and df are None below 2 clusters, with the reason."""

    mean: float
    se: float | None
    df: float | None
    clusters: int
    correction: Correction
    reason: str | None = None


def cluster_error(total: ArrayLike, size: ArrayLike, correction: Correction = "CR2") -> ClusterError:
    """Standard error of sum(total) / sum(size), from the sum and the number of observations of each cluster [G].

    CR0: sum e_g^2 / N^2 with e_g = total - size * mean. CR1: times G/(G-1). CR2 divides e_g^2 by (1 - n_g/N), CR3
    by its square. df: Satterthwaite's by Bell and McCaffrey for CR2, G-1 otherwise; both are G-1 when balanced.

    >>> found = cluster_error([3, 1, 2], [4, 4, 4])
    >>> round(found.se, 4), round(found.df, 4)
    (0.1443, 2.0)
    """
    sums, sizes = numbers(total, "total"), numbers(size, "size")
    whole = float(sizes.sum())
    mean = float(sums.sum()) / whole
    clusters = sums.size
    if clusters < 2:
        return ClusterError(mean, None, None, clusters, correction, "One cluster has no spread between clusters.")
    share = sizes / whole
    squares = (sums - sizes * mean) ** 2
    if correction == "CR2":
        squares = squares / (1 - share)
    elif correction == "CR3":
        squares = squares / (1 - share) ** 2
    variance = float(squares.sum()) / whole**2
    if correction == "CR1":
        variance *= clusters / (clusters - 1)
    df = _satterthwaite(share) if correction == "CR2" else float(clusters - 1)
    return ClusterError(mean, variance**0.5, df, clusters, correction)


def _satterthwaite(share: Floats) -> float:
    """(tr M)^2 / tr(M^2) of M_gh = a_g a_h (n_g [g=h] - n_g n_h / N), a_g^2 = 1/(1 - n_g/N), in shares n_g/N."""
    a2 = 1 / (1 - share)
    diagonal, u2 = a2 * share, a2 * share**2
    trace = float((diagonal - u2).sum())
    of_square = float((diagonal**2).sum() - 2 * (diagonal * u2).sum() + u2.sum() ** 2)
    return trace**2 / of_square


def mean_interval(
    values: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    correction: Correction = "CR2",
    level: float = 0.95,
    n: ArrayLike | None = None,
    statistic: str = "mean",
) -> Interval:
    """t interval for the mean over tasks of values [T], for tasks like these. It may leave 0..1, and says so.

    >>> found = mean_interval([0.0, 0.5, 1.0, 1.0])
    >>> round(found.low, 3), round(found.high, 3), round(found.df, 6)
    (-0.137, 1.387, 3.0)
    """
    table, error, about = _error(values, cluster, correction, n, statistic, f"{correction} and t")
    if error.se is None or error.df is None:
        return Interval(error.mean, None, None, level, about, reason=error.reason)
    half = t_quantile(level, error.df) * error.se
    note = None
    if table.min() >= 0 and table.max() <= 1 and (error.mean - half < 0 or error.mean + half > 1):
        note = "The interval leaves 0..1: for a rate take Korn-Graubard's."
    return Interval(error.mean, error.mean - half, error.mean + half, level, about, error.se, error.df, None, note)


def korn_graubard(
    values: ArrayLike,
    *,
    n: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    statistic: str = "pass@1",
) -> Interval:
    """Korn and Graubard's interval of a rate over tasks like these: Clopper-Pearson on the effective sample size.

    values [T] are rates of tasks within 0..1. The effective size p(1-p)/se^2 (se: CR1) is shrunk by the squared
    ratio of t quantiles and never exceeds the number of trials n. At a mean of 0 or 1 nothing is known between
    tasks, and the number of clusters stands in for it.

    >>> found = korn_graubard([1.0] * 20 + [0.0] * 8)
    >>> round(found.low, 3), round(found.high, 3)
    (0.509, 0.87)
    """
    return _effective_interval(values, n, cluster, level, statistic, "Korn-Graubard")


def wilson_effective(
    values: ArrayLike,
    *,
    n: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    statistic: str = "pass@1",
) -> Interval:
    """Wilson's interval on the effective sample size of `korn_graubard`, for tasks like these.

    >>> found = wilson_effective([1.0] * 20 + [0.0] * 8)
    >>> round(found.low, 3), round(found.high, 3)
    (0.526, 0.849)
    """
    return _effective_interval(values, n, cluster, level, statistic, "Wilson")


def these_tasks_interval(n: ArrayLike, c: ArrayLike, level: float = 0.95) -> Interval:
    """Interval of the mean rate of these exact tasks: z and sqrt(sum p(1-p)/(n-1)) / T; the noise within tasks only.

    Undefined where a task has one trial. It is zero wide where no task is flaky, and the note says so.

    >>> found = these_tasks_interval([10, 10], [5, 10])
    >>> round(found.se, 4), found.estimand.population
    (0.0833, 'these exact tasks')
    """
    trials, passes = counts(n, c)
    about = describe("pass@1", trials, unit="trial", method="within-task variance, normal")
    value = float((passes / trials).mean())
    if trials.min() < 2:
        alone = int((trials < 2).sum())
        reason = f"{alone} tasks have a single trial: the noise within them is unknown."
        return Interval(value, None, None, level, about, reason=reason)
    unbiased = trial_variances(trials, passes)[1]
    se = float((unbiased / trials).sum() ** 0.5 / trials.size)
    half = normal_quantile(level) * se
    note = None if se > 0 else "No task was flaky: the estimated noise is 0, which understates it."
    return Interval(value, max(0.0, value - half), min(1.0, value + half), level, about, se, None, None, note)


def pooled_wilson(n: ArrayLike, c: ArrayLike, level: float = 0.95) -> Interval:
    """Wilson's interval on all trials pooled, for these exact tasks only: it ignores that tasks differ.

    >>> found = pooled_wilson([10] * 28, [10] * 21 + [9, 8, 7, 4, 0, 0, 0])
    >>> round(found.low, 3), round(found.high, 3)
    (0.803, 0.887)
    """
    trials, passes = counts(n, c)
    about = describe("passes / trials", trials, unit="trial", population=THESE_TASKS, method="Wilson on pooled trials")
    x, size = float(passes.sum()), float(trials.sum())
    low, high = wilson(x, size, level)
    note = "Counts trials of one task as independent of the task: not an interval for tasks like these."
    return Interval(x / size, low, high, level, about, (x / size * (1 - x / size) / size) ** 0.5, None, None, note)


@dataclass(frozen=True, slots=True)
class Quoted:
    """The interval to print, the one that stands beside it, and the rule that chose."""

    quoted: Interval
    beside: Interval
    rule: str


def quoted_interval(
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    rate: bool = True,
    n: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    replicates: int = REPLICATES,
    statistic: str = "pass@1",
    bootstrap_from: int = QUOTE_BOOTSTRAP_FROM,
) -> Quoted:
    """Choose the interval to quote for a mean over tasks like these.

    Below `bootstrap_from` resampled units: Korn-Graubard for a rate and CR2 with t for other scores, the
    percentile bootstrap beside it, which covers 84% instead of 95% at 28 tasks of a suite near 94%. From there on
    the two change places. Pass 0 or a large number to override.

    >>> choice = quoted_interval([1.0] * 20 + [0.0] * 8, rng=np.random.default_rng(0))
    >>> choice.quoted.estimand.method, choice.rule
    ('Korn-Graubard', 'below 100 tasks: Korn-Graubard is quoted, the percentile bootstrap stands beside it')
    """
    run = bootstrap(values, rng=rng, cluster=cluster, replicates=replicates, n=n, statistic=statistic)
    resampled = percentile(run, level)[0]
    if rate:
        other, name = korn_graubard(values, n=n, cluster=cluster, level=level, statistic=statistic), "Korn-Graubard"
    else:
        other, name = mean_interval(values, cluster=cluster, level=level, n=n, statistic=statistic), "CR2 with t"
    if run.units < bootstrap_from:
        rule = (
            f"below {bootstrap_from} {run.estimand.unit}s: {name} is quoted, the percentile bootstrap stands beside it"
        )
        return Quoted(other, resampled, rule)
    rule = f"from {bootstrap_from} {run.estimand.unit}s: the percentile bootstrap is quoted, {name} stands beside it"
    return Quoted(resampled, other, rule)


def _effective_interval(
    values: ArrayLike, n: ArrayLike | None, cluster: ArrayLike | None, level: float, statistic: str, method: str
) -> Interval:
    table, error, about = _error(values, cluster, "CR1", n, statistic, method)
    if table.min() < 0 or table.max() > 1:
        raise ValueError("A rate lies within 0..1: for other scores take mean_interval.")
    if error.se is None or error.df is None:
        return Interval(error.mean, None, None, level, about, reason=error.reason)
    # A mean of 0.9 summed in floats must not pass for 1, nor 1 for 0.9999: the extremes are exact by the values.
    extreme = bool(table.max() == 0 or table.min() == 1)
    mean = float(table.max()) if extreme else error.mean
    trials = float(table.size if n is None else np.asarray(n).sum())
    size, note = float(error.clusters), "All tasks agree: the number of clusters stands in for the effective size."
    if not extreme:
        shrink = (t_quantile(level, max(1.0, trials - 1)) / t_quantile(level, error.df)) ** 2
        size = trials if error.se == 0 else min(trials, mean * (1 - mean) / error.se**2 * shrink)
        note = f"Effective sample size {size:.1f} of {trials:.0f} trials."
    x = mean * size
    low, high = clopper_pearson(x, size, level) if method == "Korn-Graubard" else wilson(x, size, level)
    return Interval(mean, low, high, level, about, error.se, error.df, None, note)


def _error(
    values: ArrayLike,
    cluster: ArrayLike | None,
    correction: Correction,
    n: ArrayLike | None,
    statistic: str,
    method: str,
) -> tuple[Floats, ClusterError, Estimand]:
    table = numbers(values)
    if table.size == 0:
        raise ValueError("There is no task.")
    index, units, unit = groups(cluster, table.size)
    sums = np.bincount(index, weights=table, minlength=units)
    trials = np.ones(table.size, dtype=np.int64) if n is None else n
    about = describe(statistic, trials, unit=unit, population=TASKS_LIKE_THESE, method=method)
    return table, cluster_error(sums, np.bincount(index, minlength=units), correction), about
