"""Designs within a budget: the standard error against repeats per task, and the cheapest design for a target.

The variance of pass@k and pass^k is exact, summed over binomial counts: unbiased estimators of one task vary with n,
and tasks vary among themselves by the pool of rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, roots_jacobi, xlog1py, xlogy

from orchestrator.stats.passk import Statistic, task_values
from orchestrator.stats.sample import Floats, numbers


def estimator_variance(p: float, n: int, k: int, statistic: Statistic = "pass@k") -> float:
    """Variance of one task's unbiased pass@k or pass^k from n trials at rate p, summed over the binomial.

    >>> round(estimator_variance(0.5, 6, 3), 6)
    0.033594
    """
    return float(_moments(np.array([p]), n, k, statistic)[1][0])


@dataclass(frozen=True, slots=True)
class RatePool:
    """Rates of tasks as points with weights that sum to 1: measured rates, or quadrature of an assumed Beta."""

    rates: tuple[float, ...]
    weights: tuple[float, ...]

    @classmethod
    def measured(cls, rates: ArrayLike) -> "RatePool":
        """Rates as they were measured; they spread more than true rates do, by the noise within tasks."""
        held = numbers(rates, "rates")
        return cls(tuple(float(r) for r in held), (1 / held.size,) * held.size)

    @classmethod
    def beta(cls, a: float, b: float, *, points: int = 64) -> "RatePool":
        """Beta(a, b), exact for polynomials in p up to degree 2 * points - 1."""
        nodes, weights = roots_jacobi(points, b - 1, a - 1)
        return cls(tuple((np.asarray(nodes) + 1) / 2), tuple(np.asarray(weights) / np.sum(weights)))


@dataclass(frozen=True, slots=True)
class Prices:
    """What a design costs: US dollars per trial, and once per task for its set-up."""

    trial_usd: float = 1.0
    task_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Design:
    """tasks x repeats trials, the standard error of the statistic over tasks like these, and the price."""

    tasks: int
    repeats: int
    trials: int
    se: float
    cost_usd: float


def design_error(pool: RatePool, tasks: int, repeats: int, k: int, statistic: Statistic = "pass@k") -> float:
    """Standard error of the mean of pass@k or pass^k over tasks drawn from the pool: between plus within variance.

    >>> round(design_error(RatePool.beta(1, 1), 200, 6, 3, "pass^k"), 6)
    0.024713
    """
    if repeats < k:
        raise ValueError(f"{repeats} repeats cannot estimate k = {k}.")
    mean, within = _moments(np.array(pool.rates), repeats, k, statistic)
    weights = np.array(pool.weights)
    overall = float(weights @ mean)
    return float(((weights @ (mean - overall) ** 2 + weights @ within) / tasks) ** 0.5)


def budget(
    pool: RatePool,
    trials: int,
    *,
    k: int = 1,
    tasks_available: int,
    repeats: Sequence[int],
    statistic: Statistic = "pass@k",
    prices: Prices | None = None,
) -> tuple[Design, ...]:
    """The standard error against repeats per task for a number of trials and a pool of so many tasks.

    Repeats below k, or above the trials there are, are left out; tasks are trials // repeats, at most the pool.

    >>> designs = budget(RatePool.beta(1, 1), 1200, k=3, tasks_available=200, repeats=[3, 4, 6, 8, 12, 24])
    >>> min(designs, key=lambda design: design.se).repeats
    6
    """
    price = prices or Prices()
    usable = [r for r in repeats if k <= r <= trials]
    return tuple(_design(pool, min(tasks_available, trials // r), r, k, statistic, price) for r in usable)


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The cheapest design that reaches the target, or None with the reason."""

    design: Design | None
    target_se: float
    reason: str | None = None


def cheapest_design(
    pool: RatePool,
    target_se: float,
    *,
    k: int = 1,
    tasks_available: int,
    repeats: Sequence[int],
    statistic: Statistic = "pass@k",
    prices: Prices | None = None,
) -> Cheapest:
    """The cheapest tasks x repeats whose standard error is at most the target (> 0), within the pool of tasks.

    >>> found = cheapest_design(RatePool.beta(1, 1), 0.05, tasks_available=200, repeats=range(1, 11))
    >>> found.design.tasks, found.design.repeats
    (100, 1)
    """
    if target_se <= 0:
        raise ValueError("A target standard error must be above 0.")
    price = prices or Prices()
    reached, best_se = [], float("inf")
    for r in (r for r in repeats if r >= k):
        one = design_error(pool, 1, r, k, statistic)
        needed = max(1, ceil((one / target_se) ** 2 - 1e-9))
        best_se = min(best_se, one / tasks_available**0.5)
        if needed <= tasks_available:
            reached.append(_design(pool, needed, r, k, statistic, price))
    if not reached:
        reason = f"With {tasks_available} tasks the smallest standard error is {best_se:.4g}, above {target_se:.4g}."
        return Cheapest(None, target_se, reason)
    return Cheapest(min(reached, key=lambda design: (design.cost_usd, design.trials)), target_se)


def best_repeats(within: float, between: float, prices: Prices) -> float | None:
    """Repeats per task that give the smallest error per dollar for a mean: sqrt(within/between * task/trial price).

    None where tasks do not differ (repeats cost less than tasks without end) or trials are free.

    >>> round(best_repeats(0.05, 0.08, Prices(trial_usd=0.1, task_usd=0.4)), 3)
    1.581
    """
    if between <= 0 or prices.trial_usd <= 0:
        return None
    return float((within / between * prices.task_usd / prices.trial_usd) ** 0.5)


def _design(pool: RatePool, tasks: int, r: int, k: int, statistic: Statistic, prices: Prices) -> Design:
    cost = tasks * (prices.task_usd + r * prices.trial_usd)
    return Design(tasks, r, tasks * r, design_error(pool, tasks, r, k, statistic), cost)


def _moments(p: Floats, n: int, k: int, statistic: Statistic) -> tuple[Floats, Floats]:
    """Mean and variance of the unbiased estimator at each rate, over c ~ Binomial(n, p)."""
    c = np.arange(n + 1)
    values = task_values(np.full(n + 1, n), c, k, statistic)
    choose = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1)
    mass = np.exp(choose + xlogy(c, p[:, None]) + xlog1py(n - c, -p[:, None]))
    mean = mass @ values
    return mean, np.asarray((mass * (values - mean[:, None]) ** 2).sum(axis=1), dtype=np.float64)
