"""The bootstrap over tasks or task clusters: one set of weights for any number of statistics and arms.

A replicate of a mean over tasks needs only how often each unit was drawn, so that replicates are a weight matrix
times a matrix of unit totals. Units with equal totals (tasks with the same n and c) are drawn together, by a
multinomial over the distinct ones. Efron 1979; BCa: Efron 1987; sup-t bands: Montiel Olea and Plagborg-Moller 2019.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from orchestrator.stats.passk import Statistic, task_curve
from orchestrator.stats.sample import (
    TASKS_LIKE_THESE,
    Estimand,
    Floats,
    Interval,
    checked_level,
    counts,
    describe,
    groups,
)
from orchestrator.stats.weights import draw_weights

REPLICATES = 10_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Replicates of M statistics that share their weights, so that any function of them is paired.

    estimates: [M]. replicates: [B, M]; NaN where a replicate drew no unit that has the statistic.
    jackknife: [D, M], the estimate without one unit, which stands for `multiplicity` [D] equal units.
    """

    estimates: Floats
    replicates: Floats
    jackknife: Floats
    multiplicity: Floats
    units: int
    estimand: Estimand


def bootstrap(
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    cluster: ArrayLike | None = None,
    replicates: int = REPLICATES,
    present: ArrayLike | None = None,
    n: ArrayLike | None = None,
    statistic: str = "mean",
) -> Bootstrap:
    """Bootstrap the mean over tasks of values [T] or [T, M] by task, or by the clusters in cluster [T].

    Columns may be statistics or arms of the same tasks: they share their weights. present [T, M] marks the tasks a
    column has (default all); n [T] is the trials per task, for the estimand.

    >>> result = bootstrap([0.0, 0.5, 1.0, 1.0], rng=np.random.default_rng(1))
    >>> result.estimates.tolist(), result.replicates.shape
    ([0.625], (10000, 1))
    """
    table = _columns(values)
    index, units, unit = groups(cluster, table.shape[0])
    has = np.ones_like(table) if present is None else _columns(np.asarray(present, dtype=np.float64))
    if has.shape != table.shape:
        raise ValueError("present must have the shape of values.")
    about = describe(
        statistic,
        np.ones(table.shape[0], dtype=np.int64) if n is None else n,
        unit=unit,
        population=TASKS_LIKE_THESE,
        method=f"bootstrap over {unit}s, {replicates} replicates",
    )
    top, bottom = _by_unit(table * has, index, units), _by_unit(has, index, units)
    return bootstrap_ratio(top, bottom, rng=rng, replicates=replicates, estimand=about)


def bootstrap_ratio(
    top: ArrayLike, bottom: ArrayLike, *, rng: np.random.Generator, replicates: int = REPLICATES, estimand: Estimand
) -> Bootstrap:
    """Bootstrap ratios of sums over units: top and bottom are [G] or [G, M] totals per unit.

    >>> about = describe("cost per solved", [1, 1])
    >>> bootstrap_ratio([2.0, 4.0], [1.0, 2.0], rng=np.random.default_rng(0), estimand=about).estimates.tolist()
    [2.0]
    """
    upper, lower = _columns(top), _columns(bottom)
    units = upper.shape[0]
    if units < 1 or lower.shape != upper.shape or replicates < 1:
        raise ValueError("A bootstrap needs at least one unit and one replicate, and totals of one shape.")
    distinct, multiplicity = np.unique(np.hstack([upper, lower]), axis=0, return_counts=True)
    width = upper.shape[1]
    if distinct.shape[0] * 8 > units:
        distinct, multiplicity = np.hstack([upper, lower]), np.ones(units, dtype=np.int64)
    # Equal bottoms (the same tasks in every column) are summed once.
    shared = width > 1 and bool(np.all(distinct[:, width:] == distinct[:, width : width + 1]))
    matrix = distinct[:, : width + 1] if shared else distinct
    drawn = np.empty((replicates, matrix.shape[1]))
    done = 0
    for weights in draw_weights(multiplicity, replicates, rng):
        drawn[done : done + len(weights)] = weights @ matrix
        done += len(weights)
    whole = multiplicity.astype(np.float64) @ distinct
    left_out = whole - distinct
    return Bootstrap(
        _divide(whole[:width], whole[width:]),
        _divide(drawn[:, :width], drawn[:, width:]),
        _divide(left_out[:, :width], left_out[:, width:]),
        multiplicity.astype(np.float64),
        units,
        estimand,
    )


def percentile(result: Bootstrap, level: float = 0.95) -> tuple[Interval, ...]:
    """Percentile interval of each column. Narrow by about sqrt((T-1)/T) z/t: see `quoted_interval` for small T.

    >>> run = bootstrap([0.0, 0.5, 1.0, 1.0], rng=np.random.default_rng(1))
    >>> [(i.low, i.high) for i in percentile(run)]
    [(0.25, 1.0)]
    """
    tail = (1 - checked_level(level)) / 2
    return _intervals(result, np.full((2, result.estimates.size), [[tail], [1 - tail]]), level, "percentile")


def bca(result: Bootstrap, level: float = 0.95) -> tuple[Interval, ...]:
    """Bias-corrected and accelerated interval of each column; undefined where all units are alike.

    >>> run = bootstrap([0.0, 0.5, 1.0, 1.0], rng=np.random.default_rng(1))
    >>> [(i.low, i.high) for i in bca(run)]
    [(0.0, 0.875)]
    """
    tail = (1 - checked_level(level)) / 2
    # Strictly below, as in Efron and Tibshirani 1993 (14.14); the margin keeps rounding from breaking ties.
    margin = 1e-12 * np.maximum(1.0, np.abs(result.estimates))
    below = (result.replicates < result.estimates - margin).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(below / np.isfinite(result.replicates).sum(axis=0), 0.0, 1.0)
        bias = ndtri(share)
        weight = result.multiplicity[:, None]
        centre = (weight * result.jackknife).sum(axis=0) / weight.sum()
        away = centre - result.jackknife
        skew = (weight * away**3).sum(axis=0) / (6 * (weight * away**2).sum(axis=0) ** 1.5)
        z = bias + np.array([[ndtri(tail)], [ndtri(1 - tail)]])
        at = ndtr(bias + z / (1 - skew * z))
    return _intervals(result, at, level, "BCa")


@dataclass(frozen=True, slots=True)
class Band:
    """Pointwise and simultaneous limits of M statistics, each a tuple of M; None where undefined.

    critical: the sup-t multiple of the standard error, which covers all M at once with probability `level`.
    """

    values: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    band_low: tuple[float | None, ...]
    band_high: tuple[float | None, ...]
    se: tuple[float | None, ...]
    critical: float | None
    level: float
    estimand: Estimand
    reason: str | None = None


def band(result: Bootstrap, level: float = 0.95, *, bounds: tuple[float, float] | None = (0.0, 1.0)) -> Band:
    """Pointwise percentile limits and a simultaneous sup-t band over the columns, cut at `bounds`.

    The standard errors carry sqrt(G/(G-1)), which the plain bootstrap leaves out.

    >>> run = bootstrap([[0.0, 0.0], [0.5, 0.2], [1.0, 1.0]], rng=np.random.default_rng(1))
    >>> both = band(run)
    >>> all(b <= p for b, p in zip(both.band_low, both.low))
    True
    """
    points = percentile(result, level)
    low, high = tuple(i.low for i in points), tuple(i.high for i in points)
    values, spread = tuple(i.value for i in points), tuple(i.se for i in points)
    # Columns whose units are alike vary by rounding alone.
    usable = np.array([s or 0.0 for s in spread]) > 1e-12 * np.maximum(1.0, np.abs(np.nan_to_num(result.estimates)))
    none: tuple[float | None, ...] = (None,) * len(points)
    if result.units < 2 or not usable.any():
        reason = "A band needs at least 2 units that differ."
        return Band(values, low, high, none, none, spread, None, level, result.estimand, reason)
    se = np.array([s or 0.0 for s in spread])
    inflated = (result.units / (result.units - 1)) ** 0.5
    away = np.abs(result.replicates - result.estimates)[:, usable] / se[usable] * inflated
    # A replicate in which nothing is defined says nothing of how far it lies away.
    furthest = np.where(np.isnan(away), -np.inf, away).max(axis=1)
    critical = float(np.quantile(furthest[furthest >= 0], level))
    least, most = bounds or (-np.inf, np.inf)
    lower, upper = (
        np.maximum(result.estimates - critical * se, least),
        np.minimum(result.estimates + critical * se, most),
    )
    return Band(values, low, high, _tuple(lower), _tuple(upper), spread, critical, level, result.estimand)


def bootstrap_curve(
    n: ArrayLike,
    c: ArrayLike,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    k_max: int | None = None,
    cluster: ArrayLike | None = None,
    replicates: int = REPLICATES,
    level: float = 0.95,
) -> Band:
    """The curve over k = 1..k_max (default and most: the smallest n) with its pointwise and simultaneous limits.

    >>> shape = bootstrap_curve([4, 4, 4], [4, 2, 0], "pass^k", rng=np.random.default_rng(0))
    >>> [round(v, 3) for v in shape.values]
    [0.5, 0.389, 0.333, 0.333]
    """
    trials, passes = counts(n, c)
    last = int(trials.min()) if k_max is None else k_max
    table = task_curve(trials, passes, last, statistic)
    run = bootstrap(table, rng=rng, cluster=cluster, replicates=replicates, n=trials, statistic=statistic)
    return band(run, level)


def _columns(values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[0] < 1 or not np.all(np.isfinite(table)):
        raise ValueError("values must be finite, of shape [tasks] or [tasks, statistics], with at least one task.")
    return table


def _by_unit(table: Floats, index: NDArray[np.int64], units: int) -> Floats:
    if units == table.shape[0]:
        ordered = np.empty_like(table)
        ordered[index] = table
        return ordered
    sums = np.zeros((units, table.shape[1]))
    np.add.at(sums, index, table)
    return sums


def _divide(top: Floats, bottom: Floats) -> Floats:
    empty = bottom <= 0
    if not empty.any():
        return np.asarray(top / bottom)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(empty, np.nan, top / bottom)


def _intervals(result: Bootstrap, at: Floats, level: float, method: str) -> tuple[Interval, ...]:
    about = replace(result.estimand, method=f"{method} {result.estimand.method}")
    grown = (result.units / max(1, result.units - 1)) ** 0.5
    found = []
    for j, value in enumerate(result.estimates):
        column = result.replicates[:, j]
        held = column if not np.isnan(column).any() else column[np.isfinite(column)]
        lost = column.size - held.size
        reason = _why_undefined(result, float(value), at[:, j], lost / column.size, (1 - level) / 2)
        note = f"{lost} replicates drew no unit with this statistic and were left out." if lost else None
        if reason:
            found.append(Interval(_maybe(value), None, None, level, about, reason=reason, note=note))
            continue
        low, high = np.quantile(held, at[:, j])
        se = float(held.std() * grown)
        if se <= 1e-12 * max(1.0, abs(float(value))):
            note = "All units are alike: the bootstrap sees no spread, which understates it."
        found.append(Interval(float(value), float(low), float(high), level, about, se, None, None, note))
    return tuple(found)


def _why_undefined(result: Bootstrap, value: float, at: Floats, lost: float, tail: float) -> str | None:
    if not np.isfinite(value):
        return "No unit has this statistic."
    if result.units < 2:
        return "One unit cannot be resampled: an interval needs at least 2."
    if not np.all(np.isfinite(at)):
        return "All units are alike: the correction for bias and skewness is undefined."
    if lost > tail:
        return f"{lost:.1%} of replicates are undefined, more than the {tail:.1%} in a tail."
    return None


def _maybe(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _tuple(values: Floats) -> tuple[float | None, ...]:
    return tuple(_maybe(value) for value in values)
