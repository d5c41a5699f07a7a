"""What a solved task costs, failed attempts included, and the middle and the tail of times, turns and tokens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.intervals import t_quantile
from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Interval, describe, groups, numbers, whole


def cost_per_solved(
    cost: ArrayLike,
    passes: ArrayLike,
    *,
    n: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Interval:
    """Total spend over trials passed, from cost [T] (US dollars, all attempts) and passes [T], for tasks like these.

    The interval is the linearised ratio (Cochran 1977, chapter 6) clustered by task, on the log scale, with
    t(G-1). The ratio is undefined at no passes, the interval below 2 clusters and where nothing was spent.

    >>> found = cost_per_solved([1.0, 2.0, 3.0], [1, 1, 2])
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (1.5, 0.806, 2.791)
    """
    spend, solved = numbers(cost, "cost"), whole(passes, "passes").astype(np.float64)
    if spend.shape != solved.shape or np.any(spend < 0):
        raise ValueError("cost and passes must have one entry per task, and no cost below 0.")
    index, units, unit = groups(cluster, spend.size)
    trials = np.ones(spend.size, dtype=np.int64) if n is None else n
    about = describe(
        "cost per solved", trials, unit=unit, population=TASKS_LIKE_THESE, method="ratio of sums, linearised, log scale"
    )
    won = float(solved.sum())
    if won == 0:
        return Interval(None, None, None, level, about, reason="No trial passed: cost per solved is undefined.")
    ratio = float(spend.sum()) / won
    if units < 2:
        return Interval(ratio, None, None, level, about, reason="One unit has no spread: an interval needs 2.")
    if ratio == 0:
        return Interval(ratio, None, None, level, about, reason="Nothing was spent: no interval on the log scale.")
    residual = np.bincount(index, weights=spend - ratio * solved, minlength=units)
    se = float((units / (units - 1) * (residual**2).sum()) ** 0.5 / won)
    factor = float(np.exp(t_quantile(level, units - 1) * se / ratio))
    return Interval(ratio, ratio / factor, ratio * factor, level, about, se, float(units - 1))


@dataclass(frozen=True, slots=True)
class Middle:
    """Median and 90th percentile of a quantity over trials; None with a reason where there is none."""

    median: float | None
    p90: float | None
    trials: int
    estimand: Estimand
    reason: str | None = None


def middle(values: ArrayLike, *, statistic: str = "seconds") -> Middle:
    """Median and p90 of one number per trial (latency in seconds, turns, tokens), NaN left out.

    >>> found = middle([1.0, 2.0, 3.0, 10.0])
    >>> found.median, round(found.p90, 2)
    (2.5, 7.9)
    """
    table = np.asarray(values, dtype=np.float64).ravel()
    held = table[np.isfinite(table)]
    about = describe(statistic, np.ones(held.size, dtype=np.int64), method="quantiles over trials")
    if not held.size:
        return Middle(None, None, 0, about, "No trial has a value.")
    median, p90 = np.quantile(held, (0.5, 0.9))
    return Middle(float(median), float(p90), int(held.size), about)
