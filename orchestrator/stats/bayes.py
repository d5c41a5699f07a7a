"""A hierarchical beta-binomial as a second opinion at few tasks, and what it extrapolates beyond n.

Task rates are Beta(m s, (1-m) s); m is uniform, and so is 1/(1+s), the correlation of two trials of one task. The
posterior is summed on a grid of (m, 1/(1+s)), refined where its mass lies. Gelman et al. 2013, chapter 5; Bowyer
et al. 2025 (arXiv 2503.01747) for its use at small T.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln

from orchestrator.stats.sample import (
    TASKS_LIKE_THESE,
    THESE_TASKS,
    Estimand,
    Floats,
    checked_level,
    counts,
    describe,
)

_GRID = 96


def posterior_pass_hat_k(n: int, c: int, k: int, *, prior: tuple[float, float] = (1.0, 1.0)) -> float:
    """Posterior mean of p^k of one task under a Beta prior; for k > n this extrapolates from the prior's shape.

    >>> round(posterior_pass_hat_k(10, 7, 3), 6)
    0.32967
    """
    counts(n, c)
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}.")
    a, whole = prior[0] + c, prior[0] + prior[1] + n
    i = np.arange(k)
    return float(np.prod((a + i) / (whole + i)))


@dataclass(frozen=True, slots=True)
class Posterior:
    """Posterior mean and equal-tailed interval; these_tasks: the posterior mean over the tasks seen.

    extrapolated: k exceeds the smallest n, so that the number rests on the model and not on counted subsets.
    """

    mean: float | None
    low: float | None
    high: float | None
    these_tasks: float | None
    level: float
    extrapolated: bool
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class HierarchicalFit:
    """The rate m over tasks like these, the correlation within tasks, and pass^k for each k asked for."""

    rate: Posterior
    correlation: float | None
    pass_hat: tuple[Posterior, ...]


def hierarchical(n: ArrayLike, c: ArrayLike, *, ks: tuple[int, ...] = (1,), level: float = 0.95) -> HierarchicalFit:
    """Fit n[T], c[T]. Undefined with a reason below 2 tasks. No random numbers: the same cells, the same answer.

    pass^k of tasks like these is E[p^k] for a task drawn anew, with the interval from the posterior of (m, s).

    >>> fit = hierarchical([10] * 4, [10, 9, 5, 0], ks=(1, 20))
    >>> round(fit.rate.mean, 3), fit.pass_hat[1].extrapolated
    (0.543, True)
    """
    trials, passes = counts(n, c)
    checked_level(level)
    if any(k < 1 for k in ks):
        raise ValueError("Every k must be at least 1.")
    if trials.size < 2:
        none = tuple(_undefined(trials, k, level) for k in ks)
        return HierarchicalFit(_undefined(trials, None, level), None, none)
    pairs, weight = np.unique(np.stack([trials, passes], axis=1), axis=0, return_counts=True)
    m, rho, mass = _posterior(pairs[:, 0], pairs[:, 1], weight)
    a, b = m * (1 / rho - 1), (1 - m) * (1 / rho - 1)
    seen = float((mass * (_task_power(a, b, pairs, weight, 1))).sum())
    about = describe("rate", trials, unit="task", population=TASKS_LIKE_THESE, method="hierarchical beta-binomial")
    mean, low, high = _summary(m, mass, level)
    rate = Posterior(mean, low, high, seen, level, False, about)
    found = tuple(_power(a, b, mass, pairs, weight, k, level, trials) for k in ks)
    return HierarchicalFit(rate, float((mass * rho).sum()), found)


def rule_of_three(trials: int, confidence: float = 0.95) -> float:
    """Upper bound of a failure rate after no failure in so many trials: 1 - (1-confidence)^(1/n), about 3/n.

    >>> round(rule_of_three(28), 4), round(rule_of_three(100), 4)
    (0.1015, 0.0295)
    """
    if trials < 1:
        raise ValueError("Without a trial there is no bound.")
    return float(1 - (1 - checked_level(confidence)) ** (1 / trials))


def _posterior(n: NDArray[Any], c: NDArray[Any], weight: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Grid points m, rho and their mass, each [cells]: once over the unit square, then over where the mass lies."""
    box = (0.0, 1.0, 0.0, 1.0)
    for _ in range(3):
        table = _on_grid(box, n, c, weight)[2].reshape(_GRID, _GRID)
        box = (*_support(table.sum(axis=1), box[0], box[1]), *_support(table.sum(axis=0), box[2], box[3]))
    return _on_grid(box, n, c, weight)


def _on_grid(
    box: tuple[float, float, float, float], n: NDArray[Any], c: NDArray[Any], weight: NDArray[Any]
) -> tuple[Floats, Floats, Floats]:
    middle = (np.arange(_GRID) + 0.5) / _GRID
    m = np.repeat(box[0] + (box[1] - box[0]) * middle, _GRID)
    rho = np.tile(box[2] + (box[3] - box[2]) * middle, _GRID)
    a, b = m * (1 / rho - 1), (1 - m) * (1 / rho - 1)
    log = np.zeros_like(m)
    start = betaln(a, b)
    for trials, passes, times in zip(n, c, weight, strict=True):
        log += times * (betaln(a + passes, b + trials - passes) - start)
    mass = np.exp(log - log.max())
    return m, rho, mass / mass.sum()


def _support(mass: Floats, low: float, high: float) -> tuple[float, float]:
    held = np.flatnonzero(mass > 1e-7 * mass.max())
    step = (high - low) / mass.size
    first, last = max(0, int(held[0]) - 1), min(mass.size, int(held[-1]) + 2)
    return low + first * step, low + last * step


def _task_power(a: Floats, b: Floats, pairs: NDArray[Any], weight: NDArray[Any], k: int) -> Floats:
    """Mean over the tasks seen of E[p^k | its own outcomes], for every grid point."""
    total = np.zeros_like(a)
    for (trials, passes), times in zip(pairs, weight, strict=True):
        total += times * np.exp(betaln(a + passes + k, b + trials - passes) - betaln(a + passes, b + trials - passes))
    return total / float(weight.sum())


def _power(
    a: Floats,
    b: Floats,
    mass: Floats,
    pairs: NDArray[Any],
    weight: NDArray[Any],
    k: int,
    level: float,
    trials: NDArray[Any],
) -> Posterior:
    mean, low, high = _summary(np.exp(betaln(a + k, b) - betaln(a, b)), mass, level)
    seen = float((mass * _task_power(a, b, pairs, weight, k)).sum())
    beyond = k > int(trials.min())
    note = f"k = {k} exceeds the smallest n = {trials.min()}: an extrapolation by the model." if beyond else None
    about = describe(
        "pass^k", trials, k=k, unit="task", population=TASKS_LIKE_THESE, method="hierarchical beta-binomial"
    )
    return Posterior(mean, low, high, seen, level, beyond, about, None, note)


def _summary(values: Floats, mass: Floats, level: float) -> tuple[float, float, float]:
    order = np.argsort(values)
    cumulative = np.cumsum(mass[order]) - 0.5 * mass[order]
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], cumulative, values[order])
    return float((mass * values).sum()), float(low), float(high)


def _undefined(trials: NDArray[Any], k: int | None, level: float) -> Posterior:
    about = describe("rate" if k is None else "pass^k", trials, k=k, population=THESE_TASKS)
    beyond = k is not None and bool(trials.size) and k > int(trials.min())
    reason = "Below 2 tasks nothing is known of tasks like these."
    return Posterior(None, None, None, None, level, beyond, about, reason)


def beta_tail(threshold: float, n: int, c: int, *, prior: tuple[float, float] = (1.0, 1.0)) -> float:
    """Posterior probability that one task's rate exceeds the threshold, under a Beta prior.

    >>> round(beta_tail(0.5, 10, 7), 4)
    0.8867
    """
    counts(n, c)
    return float(1 - betainc(prior[0] + c, prior[1] + n - c, threshold))
