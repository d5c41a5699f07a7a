"""Which arms give the most accuracy for their cost, and how sure that is.

An arm is dominated when another costs no more and scores no less, and is better in one of the two. Uncertainty is by
resampling tasks, the same draw for all arms, so what tasks share cancels. Source: Efron and Tibshirani 1993; the
share of replicates on the frontier is a description, not a test: near a tie it stays far from 0 and 1.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Floats, checked_level, describe, groups

Place = Literal["on", "dominated", "open"]
REPLICATES = 2_000
_CELLS = 1 << 21


@dataclass(frozen=True, slots=True)
class FrontierArm:
    """One arm. cost in US dollars per trial; ends are pointwise percentile intervals over tasks.

    on_frontier: of the estimates. share: of replicates in which it is on the frontier. place: "on" or "dominated"
    where at least `level` of replicates say so, "open" otherwise. rival: the arm that dominates it most often, and
    rival_share how often; None if none ever does.
    """

    accuracy: float
    accuracy_low: float
    accuracy_high: float
    cost: float
    cost_low: float
    cost_high: float
    on_frontier: bool
    share: float
    place: Place
    rival: int | None
    rival_share: float


@dataclass(frozen=True, slots=True)
class Frontier:
    """Arms in the order given; order: indices of those on the frontier by rising cost. arms is empty with a reason."""

    arms: tuple[FrontierArm, ...]
    order: tuple[int, ...]
    level: float
    estimand: Estimand
    reason: str | None = None


def frontier(
    accuracy: ArrayLike,
    cost: ArrayLike,
    *,
    rng: np.random.Generator,
    cluster: ArrayLike | None = None,
    n: ArrayLike | None = None,
    level: float = 0.95,
    replicates: int = REPLICATES,
    statistic: str = "pass@1",
) -> Frontier:
    """Frontier of accuracy [A, T] against cost [A, T] (US dollars per trial), both per task and averaged over tasks.

    Undefined below 2 tasks (or clusters).

    >>> accuracy = [[0.2, 0.4, 0.3, 0.5], [0.6, 0.9, 0.8, 0.9], [0.5, 0.7, 0.6, 0.8]]
    >>> found = frontier(accuracy, [[1.0] * 4, [2.0] * 4, [3.0] * 4], rng=np.random.default_rng(0))
    >>> found.order, [arm.place for arm in found.arms], found.arms[2].rival
    ((0, 1), ['on', 'on', 'dominated'], 1)
    """
    rates, prices = (np.asarray(values, dtype=np.float64) for values in (accuracy, cost))
    if rates.ndim != 2 or rates.shape != prices.shape or not rates.shape[0]:
        raise ValueError("accuracy and cost need one row per arm and one column per task: every arm has every task.")
    if not (np.all(np.isfinite(rates)) and np.all(np.isfinite(prices))) or np.any(prices < 0):
        raise ValueError("accuracy and cost must be finite, and no cost below 0.")
    arms, tasks = rates.shape
    index, units, unit = groups(cluster, tasks)
    checked_level(level)
    trials = np.ones(tasks, dtype=np.int64) if n is None else n
    about = describe(
        statistic,
        trials,
        unit=unit,
        population=TASKS_LIKE_THESE,
        method=f"{replicates} bootstrap replicates over {unit}s",
    )
    if units < 2:
        return Frontier((), (), level, about, f"One {unit} has no spread: a frontier's uncertainty needs 2.")
    if replicates < 100:
        raise ValueError("A frontier needs at least 100 replicates.")
    draws = _replicates(np.concatenate([rates, prices]), index, units, replicates, rng)
    point = _dominance(rates.mean(axis=1)[None], prices.mean(axis=1)[None])[0]
    beaten, free = np.zeros((arms, arms), dtype=np.int64), np.zeros(arms, dtype=np.int64)
    rows = max(1, _CELLS // arms**2)
    for start in range(0, replicates, rows):
        part = draws[start : start + rows]
        over = _dominance(part[:, :arms], part[:, arms:])
        beaten += over.sum(axis=0)
        free += (~over.any(axis=1)).sum(axis=0)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    found = []
    for arm in range(arms):
        share, rival = float(free[arm] / replicates), int(beaten[:, arm].argmax())
        place: Place = "on" if share >= level else "dominated" if share <= 1 - level else "open"
        ever = int(beaten[rival, arm])
        found.append(
            FrontierArm(
                float(rates[arm].mean()),
                float(low[arm]),
                float(high[arm]),
                float(prices[arm].mean()),
                float(low[arms + arm]),
                float(high[arms + arm]),
                not bool(point[:, arm].any()),
                share,
                place,
                rival if ever else None,
                ever / replicates,
            )
        )
    on = [arm for arm in range(arms) if found[arm].on_frontier]
    return Frontier(tuple(found), tuple(sorted(on, key=lambda arm: (found[arm].cost, arm))), level, about)


def _replicates(
    table: Floats, index: NDArray[np.int64], units: int, replicates: int, rng: np.random.Generator
) -> Floats:
    """Means [B, M] of rows [M, T] over resampled units; a replicate's mean divides by the tasks it drew."""
    sums = np.stack([np.bincount(index, weights=row, minlength=units) for row in table], axis=1)
    size = np.bincount(index, minlength=units).astype(np.float64)
    weights = rng.multinomial(units, np.full(units, 1 / units), size=replicates).astype(np.float64)
    return np.asarray((weights @ sums) / (weights @ size)[:, None], dtype=np.float64)


def _dominance(rates: Floats, prices: Floats) -> NDArray[np.bool_]:
    """[B, i, j]: arm i dominates arm j, in each row of rates and prices [B, A]; rounding is no advantage."""
    gain = rates[:, :, None] - rates[:, None, :]
    saving = prices[:, None, :] - prices[:, :, None]
    slack = 1e-12 * max(1.0, float(np.abs(prices).max(initial=0.0)))
    better = (gain > 1e-12) | (saving > slack)
    return np.asarray((gain >= -1e-12) & (saving >= -slack) & better, dtype=np.bool_)
