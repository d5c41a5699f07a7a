"""Scores per day (or node, or hour) made fair for which tasks ran, and the mean's error clustered both ways.

Variance parts are in `crossed`; grids are those of `grid`. Source: Cameron, Gelbach and Miller 2011.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.grid import about_grid, grid
from orchestrator.stats.intervals import t_quantile
from orchestrator.stats.sample import Estimand, Floats, Interval


@dataclass(frozen=True, slots=True)
class Levels:
    """Score of each level of a factor, adjusted for which tasks ran there; intervals carry the task x level noise.

    scores: mean + effect of each level. effects: against the mean of all levels. adjusted: False where every task
    ran on every level, so that plain means are already fair. tasks [D]: tasks that ran at each level.
    """

    scores: tuple[Interval, ...]
    effects: tuple[Interval, ...]
    adjusted: bool
    tasks: tuple[int, ...]
    factor: str
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


def level_scores(
    n: ArrayLike,
    total: ArrayLike,
    *,
    level: float = 0.95,
    factor: str = "day",
    statistic: str = "pass@1",
) -> Levels:
    """Mean score per level: plain task means on a full grid, least squares with task fixed effects otherwise.

    Each cell mean counts once. Effects carry CR1 errors clustered by task with t(T-1), scores those of the effects:
    how levels differ on these tasks, not how tasks differ. Undefined where levels share no tasks (a disconnected
    grid), below 2 levels or 2 tasks.

    >>> found = level_scores([[2, 2], [2, 0], [2, 2]], [[2, 1], [0, 0], [1, 1]])
    >>> [round(s.value, 3) for s in found.scores], found.adjusted
    ([0.75, 0.5], True)
    """
    trials, sums, _ = grid(n, total, None)
    seen = trials > 0
    about = about_grid(trials, statistic, "task", f"task-adjusted {factor} scores, CR1 by task and t")
    tasks = tuple(int(v) for v in seen.sum(axis=0))
    # A task seen at one level only says nothing about how levels differ.
    used = seen.sum(axis=1) > 1
    if not _connected(seen[used]) or used.sum() < 2 or trials.shape[1] < 2:
        why = f"The {factor}s share too few tasks to be compared: 2 tasks must tie all of them together."
        return Levels((), (), not bool(seen.all()), tasks, factor, about, why)
    means, weight = _means(sums, trials)[used], seen[used].astype(np.float64)
    effects, influence = _effects(means, weight)
    units = int(used.sum())
    error = np.sqrt(units / (units - 1) * (influence**2).sum(axis=0))
    half = t_quantile(level, units - 1) * error
    # The task mean each task would have over all levels, averaged; on a full grid the plain grand mean.
    centre = float((((means - effects) * weight).sum(axis=1) / weight.sum(axis=1)).mean())
    note = None if used.all() else f"{int((~used).sum())} tasks ran at fewer than 2 {factor}s and are left out."
    scores, shifts = (
        tuple(
            Interval(base + e, base + e - h, base + e + h, level, about, float(s), units - 1.0)
            for e, h, s in zip(effects.tolist(), half.tolist(), error, strict=True)
        )
        for base in (centre, 0.0)
    )
    return Levels(scores, shifts, not bool(seen.all()), tasks, factor, about, None, note)


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Two-way clustered error of a mean. raw: V_task + V_level - V_cell, which can be negative. guarded: it was
    below the greatest single part, which then stands in for it."""

    interval: Interval
    raw: float
    by_task: float
    by_level: float
    by_cell: float
    guarded: bool


def two_way_clustered(
    n: ArrayLike,
    total: ArrayLike,
    *,
    level: float = 0.95,
    factor: str = "day",
    statistic: str = "pass@1",
    correct: bool = True,
) -> TwoWay:
    """Two-way clustered interval of the mean over trials, with t(min(T, D) - 1); missing cells are allowed.

    correct: each part times G/(G-1) of its own clusters. A raw variance that is negative or below every one-way
    part is no error to believe: the greatest part is used instead. Undefined below 2 tasks or levels.

    >>> found = two_way_clustered([[1, 1], [1, 1]], [[1, 0], [0, 1]], correct=False)
    >>> found.raw, found.guarded, found.interval.se
    (-0.0625, True, 0.25)
    """
    trials, sums, _ = grid(n, total, None)
    about = about_grid(trials, statistic, f"task and {factor}", f"two-way clustered (CGM) by task and {factor}")
    size = float(trials.sum())
    mean = float(sums.sum()) / size
    gaps = sums - trials * mean
    seen = trials > 0
    axes = [(gaps.sum(axis=1), seen.any(axis=1)), (gaps.sum(axis=0), seen.any(axis=0)), (gaps[seen], seen[seen])]
    counted = [int(used.sum()) for _, used in axes]
    fewest = min(counted[:2])
    if fewest < 2:
        why = f"Two-way clustering needs 2 tasks and 2 {factor}s."
        return TwoWay(Interval(mean, None, None, level, about, reason=why), 0.0, 0.0, 0.0, 0.0, False)
    parts = [
        float((gap**2).sum()) / size**2 * (g / (g - 1) if correct else 1.0)
        for (gap, _), g in zip(axes, counted, strict=True)
    ]
    raw = parts[0] + parts[1] - parts[2]
    used_variance = max(raw, *parts) if raw <= 0 else max(raw, parts[0], parts[1])
    guarded = used_variance > raw
    se, df = used_variance**0.5, fewest - 1.0
    half = t_quantile(level, df) * se
    note = "The two-way variance was too small to believe: the greatest one-way part is used." if guarded else None
    interval = Interval(mean, mean - half, mean + half, level, about, se, df, None, note)
    return TwoWay(interval, raw, parts[0], parts[1], parts[2], guarded)


def _effects(means: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Level effects [D] that sum to 0, and the influence [T, D] of each task on them; task effects swept out."""
    size = weight.sum(axis=1, keepdims=True)
    centred = weight * (means - (means * weight).sum(axis=1, keepdims=True) / size)
    information = np.diag(weight.sum(axis=0)) - (weight / size).T @ weight
    inverse = np.linalg.pinv(information, hermitian=True)
    effects = inverse @ centred.sum(axis=0)
    fitted = weight * (effects - (weight @ effects)[:, None] / size)
    return effects, (centred - fitted) @ inverse


def _connected(seen: np.ndarray) -> bool:
    """Whether every level can be reached from the first over shared tasks."""
    reached = np.zeros(seen.shape[1], dtype=bool)
    reached[:1] = True
    for _ in range(seen.shape[1]):
        reached = seen[seen[:, reached].any(axis=1)].any(axis=0) | reached
    return bool(reached.all())


def _means(sums: Floats, trials: Floats) -> Floats:
    return np.divide(sums, trials, out=np.zeros_like(sums), where=trials > 0)
