"""Showing that two arms are alike, or one no worse, within a margin declared beforehand.

A difference that is not significant is no evidence of equality, so the verdict here is never taken from it.
Sources: Schuirmann 1987 (two one-sided tests); the interval reading is Westlake 1976.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from orchestrator.stats.intervals import cluster_error, t_quantile
from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, checked_level, describe, groups, numbers

Verdict = Literal["equivalent", "not inferior", "inconclusive", "outside the margin"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """An equivalence or non-inferiority test; p and `shown` are None with a reason where it is undefined.

    difference: mean of second - first. low, high: its 1 - 2 alpha interval, inside the margin exactly when `shown`.
    verdict "outside the margin": the whole interval lies beyond it. "inconclusive" is not "no difference".
    """

    difference: float | None
    margin: float
    p: float | None
    shown: bool | None
    low: float | None
    high: float | None
    alpha: float
    verdict: Verdict | None
    estimand: Estimand
    reason: str | None = None


def tost(
    differences: ArrayLike,
    margin: float,
    *,
    cluster: ArrayLike | None = None,
    n: ArrayLike | None = None,
    alpha: float = 0.05,
    statistic: str = "difference",
) -> Equivalence:
    """Two one-sided t tests that the mean of differences [T] lies within (-margin, margin); CR2 over tasks.

    Undefined below 2 tasks (or clusters), and where all differences are equal: no spread, no t test.

    >>> found = tost([0.01, -0.01, 0.0, 0.02, -0.02, 0.01], 0.05)
    >>> found.verdict, round(found.p, 4), round(found.high, 4)
    ('equivalent', 0.0002, 0.0138)
    """
    return _test(differences, margin, cluster, n, alpha, statistic, both=True, sign=1.0)


def non_inferior(
    differences: ArrayLike,
    margin: float,
    *,
    higher_is_better: bool = True,
    cluster: ArrayLike | None = None,
    n: ArrayLike | None = None,
    alpha: float = 0.05,
    statistic: str = "difference",
) -> Equivalence:
    """One-sided t test that the second arm is worse by less than the margin; differences [T] are second - first.

    Only the bound on the worse side decides. For a cost, higher_is_better=False. Undefined as `tost` is.

    >>> non_inferior([0.3, 0.1, 0.2, 0.0, 0.15], 0.02).verdict
    'not inferior'
    >>> non_inferior([0.3, 0.1, 0.2, 0.0, 0.15], 0.02, higher_is_better=False).verdict
    'outside the margin'
    """
    sign = 1.0 if higher_is_better else -1.0
    return _test(differences, margin, cluster, n, alpha, statistic, both=False, sign=sign)


def _test(
    differences: ArrayLike,
    margin: float,
    cluster: ArrayLike | None,
    n: ArrayLike | None,
    alpha: float,
    statistic: str,
    *,
    both: bool,
    sign: float,
) -> Equivalence:
    values = numbers(differences, "differences")
    if not (np.isfinite(margin) and margin > 0):
        raise ValueError(f"The margin must be declared, above 0, not {margin}.")
    checked_level(1 - 2 * alpha)
    trials = np.ones(values.size, dtype=np.int64) if n is None else n
    index, units, unit = groups(cluster, values.size)
    name = "two one-sided t tests" if both else "one-sided t test"
    about = describe(
        statistic, trials, unit=unit, population=TASKS_LIKE_THESE, method=f"{name}, CR2, margin {margin:g}"
    )
    if values.size == 0:
        return Equivalence(None, margin, None, None, None, None, alpha, None, about, "There is no task.")
    found = cluster_error(
        np.bincount(index, weights=values, minlength=units), np.bincount(index, minlength=units), "CR2"
    )
    reason = found.reason
    if found.se is not None and found.se < 1e-12:
        reason = "All differences are equal: without spread between tasks a t test says nothing."
    if reason or found.se is None or found.df is None:
        return Equivalence(found.mean, margin, None, None, None, None, alpha, None, about, reason)
    half = t_quantile(1 - 2 * alpha, found.df) * found.se
    low, high = found.mean - half, found.mean + half
    worse = float(stdtr(found.df, -(sign * found.mean + margin) / found.se))
    better = float(stdtr(found.df, (found.mean - margin) / found.se)) if both else 0.0
    p = max(worse, better)
    verdict = _verdict(p <= alpha, low, high, margin, sign, both)
    return Equivalence(found.mean, margin, p, p <= alpha, low, high, alpha, verdict, about)


def _verdict(shown: bool, low: float, high: float, margin: float, sign: float, both: bool) -> Verdict:
    if shown:
        return "equivalent" if both else "not inferior"
    worst = high if sign > 0 else -low
    if worst < -margin or (both and low > margin):
        return "outside the margin"
    return "inconclusive"
