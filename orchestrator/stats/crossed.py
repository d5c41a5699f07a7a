"""The crossed task x day model: how much of the variance is task, day, task x day and repeat, and the mean's interval.

The same for node or hour in place of day. Sources: Satterthwaite 1946; Ting et al. 1990 and Burdick and Graybill
1992 (modified large sample intervals of variance parts). Grids are those of `grid`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, fdtrc, fdtri

from orchestrator.stats.grid import about_grid, grid
from orchestrator.stats.intervals import t_quantile
from orchestrator.stats.sample import Estimand, Floats, Interval, checked_level

CLAIM_FROM = 5


@dataclass(frozen=True, slots=True)
class Part:
    """A variance part in squared score units: `raw` can be negative, `value` is clipped at 0."""

    name: str
    raw: float | None
    value: float | None
    low: float | None
    high: float | None
    df: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Crossed:
    """The crossed task x level model y = mean + task + level + task x level + repeat.

    parts: task, level, task x level, repeat (squared score units). mean: interval for tasks and levels like these.
    p: F test of a level effect, None below 5 levels, where none is claimed. dropped: tasks left out because they
    miss a level.
    """

    mean: Interval | None
    parts: tuple[Part, ...]
    p: float | None
    p_reason: str | None
    dropped: int
    factor: str
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


def crossed(
    n: ArrayLike,
    total: ArrayLike,
    total_sq: ArrayLike | None = None,
    *,
    level: float = 0.95,
    factor: str = "day",
    statistic: str = "pass@1",
) -> Crossed:
    """Variance parts for task, level, task x level and repeat, and the interval of the mean over both.

    Unweighted means analysis of the cells that remain when tasks with a missing cell are left out; parts between
    have the modified large sample intervals of Ting et al., which assume normal effects and are approximate for
    rates. With one trial per cell the last two parts cannot be told apart, and stand as one. The variance of the
    mean is (MS_task + MS_level - MS_both) / (T D) with Satterthwaite's df, never below the greater of the
    one-factor forms' error. Undefined below 2 tasks or levels.

    >>> n, c = np.full((4, 3), 2), np.array([[2, 2, 1], [1, 1, 0], [2, 1, 1], [0, 1, 0]])
    >>> found = crossed(n, c)
    >>> found.mean.value, [part.name for part in found.parts], found.p_reason
    (0.5, ['task', 'day', 'task x day', 'repeat'], 'Below 5 days no claim of a day effect is made.')
    """
    trials, sums, squares = grid(n, total, total_sq)
    checked_level(level)
    full = (trials > 0).all(axis=1)
    dropped = int((~full).sum())
    trials, sums, squares = trials[full], sums[full], squares[full]
    about = about_grid(trials, statistic, f"task and {factor}", f"crossed task x {factor} model, Satterthwaite")
    tasks, levels = trials.shape
    if tasks < 2 or levels < 2:
        why = f"A crossed model needs 2 tasks on 2 {factor}s: {tasks} tasks ran on all {levels}."
        return Crossed(None, (), None, why, dropped, factor, about, why)
    ms = _mean_squares(trials, sums, squares)
    p, p_reason = _claim(ms, factor)
    note = f"{dropped} tasks miss a {factor} and are left out." if dropped else None
    mean = _mean_interval(ms, float((sums / trials).mean()), level, about)
    return Crossed(mean, _parts(ms, 1 - level, factor), p, p_reason, dropped, factor, about, None, note)


@dataclass(frozen=True, slots=True)
class _MeanSquares:
    """Mean squares of cell means (of a single trial for `repeat`) and their df; size: harmonic trials per cell."""

    task: float
    level: float
    both: float
    repeat: float | None
    tasks: int
    levels: int
    size: float
    df_repeat: int

    def df(self) -> tuple[int, int, int]:
        return self.tasks - 1, self.levels - 1, (self.tasks - 1) * (self.levels - 1)


def _mean_squares(trials: Floats, sums: Floats, squares: Floats) -> _MeanSquares:
    means = sums / trials
    tasks, levels = means.shape
    rows, columns = means.mean(axis=1), means.mean(axis=0)
    inner = means - rows[:, None] - columns + means.mean()
    spare = int((trials - 1).sum())
    within = float(np.maximum(squares - sums**2 / trials, 0.0).sum()) / spare if spare else None
    return _MeanSquares(
        levels * float(rows.var(ddof=1)),
        tasks * float(columns.var(ddof=1)),
        float((inner**2).sum()) / ((tasks - 1) * (levels - 1)),
        within,
        tasks,
        levels,
        float(1 / (1 / trials).mean()),
        spare,
    )


def _claim(ms: _MeanSquares, factor: str) -> tuple[float | None, str | None]:
    """F test of MS_level against MS_both, or why there is none."""
    if ms.levels < CLAIM_FROM:
        return None, f"Below {CLAIM_FROM} {factor}s no claim of a {factor} effect is made."
    if ms.both <= 0:
        return None, f"Nothing is left beyond task and {factor}: no F test."
    _, df, df_both = ms.df()
    return float(fdtrc(df, df_both, ms.level / ms.both)), None


def _mean_interval(ms: _MeanSquares, value: float, level: float, about: Estimand) -> Interval:
    cells = ms.tasks * ms.levels
    df_task, df_level, df_both = ms.df()
    variance = (ms.task + ms.level - ms.both) / cells
    floor, floor_df = max((ms.task / cells, df_task), (ms.level / cells, df_level))
    if floor <= 0:
        why = "Every task and every level has the same mean: no spread, no interval."
        return Interval(value, None, None, level, about, reason=why)
    if variance > floor:
        parts = ms.task**2 / df_task + ms.level**2 / df_level + ms.both**2 / df_both
        df = (ms.task + ms.level - ms.both) ** 2 / parts
        note = None
    else:
        # Without spread between levels (or tasks) the sum of parts undershoots the one-way error.
        variance, df = floor, float(floor_df)
        note = "One factor shows no spread of its own: the error is that of the other alone."
    se = variance**0.5
    half = t_quantile(level, df) * se
    return Interval(value, value - half, value + half, level, about, se, df, None, note)


def _parts(ms: _MeanSquares, alpha: float, factor: str) -> tuple[Part, ...]:
    df_task, df_level, df_both = ms.df()
    task = _difference("task", (ms.task, df_task), (ms.both, df_both), ms.levels, alpha)
    level = _difference(factor, (ms.level, df_level), (ms.both, df_both), ms.tasks, alpha)
    if ms.repeat is None:
        both = _single(f"task x {factor} and repeat", ms.both, df_both, alpha)
        return task, level, both, Part("repeat", None, None, None, None, None, "One trial per cell: no repeats.")
    noise = (ms.repeat / ms.size, ms.df_repeat)
    both = _difference(f"task x {factor}", (ms.both, df_both), noise, 1, alpha)
    return task, level, both, _single("repeat", ms.repeat, ms.df_repeat, alpha)


def _single(name: str, ms: float, df: int, alpha: float) -> Part:
    low, high = (ms * df / _chi2(tail, df) for tail in (1 - alpha / 2, alpha / 2))
    return Part(name, ms, ms, low, high, float(df))


def _difference(name: str, a: tuple[float, int], b: tuple[float, int], divisor: float, alpha: float) -> Part:
    """(MS_a - MS_b) / divisor with the modified large sample interval of Ting et al. 1990, each side at alpha/2."""
    (x, m), (y, n), tail = a, b, alpha / 2
    g1, h1 = 1 - m / _chi2(1 - tail, m), m / _chi2(tail, m) - 1
    g2, h2 = 1 - n / _chi2(1 - tail, n), n / _chi2(tail, n) - 1
    f_high, f_low = float(fdtri(m, n, 1 - tail)), float(fdtri(m, n, tail))
    cross_low = ((f_high - 1) ** 2 - (g1 * f_high) ** 2 - h2**2) / f_high
    cross_high = ((1 - f_low) ** 2 - (h1 * f_low) ** 2 - g2**2) / f_low
    below = max(0.0, (g1 * x) ** 2 + (h2 * y) ** 2 + cross_low * x * y) ** 0.5
    above = max(0.0, (h1 * x) ** 2 + (g2 * y) ** 2 + cross_high * x * y) ** 0.5
    raw = (x - y) / divisor
    low, high = max(0.0, (x - y - below) / divisor), max(0.0, (x - y + above) / divisor)
    reason = None if raw >= 0 else "The estimate is negative and is shown as 0."
    return Part(name, raw, max(0.0, raw), low, high, float(m), reason)


def _chi2(q: float, df: int) -> float:
    return float(chdtri(df, 1 - q))
