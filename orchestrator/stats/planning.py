"""How many tasks and repeats a question needs: sample size, power of the test in use, and the cheapest design.

Sample size: Miller 2024 (arXiv 2411.00640), section 5. Power is simulated with the test that will be used, because
the normal formula promises too much at few tasks. Budget: exact variance of pass@k and pass^k over binomial counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr, ndtri, roots_jacobi, xlog1py, xlogy

from orchestrator.stats.passk import Statistic, task_values
from orchestrator.stats.sample import Floats, checked_level, numbers

PairedTest = Callable[[Floats, np.random.Generator], Floats]


@dataclass(frozen=True, slots=True)
class Noise:
    """Variances behind a paired comparison, per task: omega2 of the true difference between arms, sigma2_a and
    sigma2_b of a single trial of each arm."""

    omega2: float
    sigma2_a: float
    sigma2_b: float

    def per_task(self, repeats_a: float, repeats_b: float) -> float:
        """Variance of one task's difference of means, with so many repeats of each arm."""
        if repeats_a <= 0 or repeats_b <= 0:
            raise ValueError("Each arm needs at least one repeat.")
        return self.omega2 + self.sigma2_a / repeats_a + self.sigma2_b / repeats_b


@dataclass(frozen=True, slots=True)
class SampleSize:
    """tasks: rounded up, so that the power is reached; exact: before rounding."""

    tasks: int
    exact: float
    alpha: float
    power: float


def tasks_needed(
    noise: Noise,
    difference: float,
    *,
    repeats_a: float = 1,
    repeats_b: float = 1,
    alpha: float = 0.05,
    power: float = 0.8,
) -> SampleSize:
    """Tasks for a paired two-sided test to see a difference: (z_a/2 + z_b)^2 (w^2 + sA^2/KA + sB^2/KB) / d^2.

    >>> tasks_needed(Noise(1 / 9, 0.0, 0.0), 0.03).tasks
    969
    """
    if difference == 0:
        raise ValueError("No number of tasks shows a difference of 0.")
    exact = _z2(alpha, power) * noise.per_task(repeats_a, repeats_b) / difference**2
    # Rounding must not turn a size that is whole up to rounding into one more.
    return SampleSize(max(1, ceil(exact - 1e-9)), exact, alpha, power)


def smallest_difference(
    noise: Noise, tasks: int, *, repeats_a: float = 1, repeats_b: float = 1, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The inverse of `tasks_needed`: the smallest difference that so many tasks see with the power.

    >>> round(smallest_difference(Noise(1 / 9, 1 / 6, 1 / 6), 198), 4)
    0.1327
    """
    if tasks < 1:
        raise ValueError("There must be at least one task.")
    return float((_z2(alpha, power) * noise.per_task(repeats_a, repeats_b) / tasks) ** 0.5)


def normal_power(
    noise: Noise, difference: float, tasks: int, *, repeats_a: float = 1, repeats_b: float = 1, alpha: float = 0.05
) -> float:
    """Power of a two-sided z test, both tails counted; too high at few tasks, for which see `simulated_power`.

    >>> round(normal_power(Noise(0.049, 0.03225, 0.03225), 0.05, 356), 3)
    0.8
    """
    shift = abs(difference) / (noise.per_task(repeats_a, repeats_b) / tasks) ** 0.5
    z = float(ndtri(1 - checked_level(alpha) / 2))
    return float(ndtr(shift - z) + ndtr(-shift - z))


@dataclass(frozen=True, slots=True)
class Power:
    """Share of simulated sweeps whose test rejects, with the Monte Carlo standard error of that share."""

    power: float
    error: float
    simulations: int
    alpha: float
    test: str


def sign_flip_test(flips: int = 999) -> PairedTest:
    """A paired test: differences [S, T] of S sweeps to p-values [S], by flips of the signs shared by the sweeps.

    Monte Carlo with p = (b+1)/(flips+1); flips = 999 keeps the size at 5% exactly.

    >>> test = sign_flip_test(99)
    >>> test(np.zeros((2, 4)), np.random.default_rng(0)).tolist()
    [1.0, 1.0]
    """

    def test(differences: Floats, rng: np.random.Generator) -> Floats:
        signs = rng.integers(0, 2, size=(differences.shape[1], flips)) * 2.0 - 1.0
        observed = np.abs(differences.sum(axis=1))
        slack = 1e-9 * np.maximum(1.0, observed)
        step = max(1, (1 << 22) // flips)
        more = [
            (np.abs(differences[i : i + step] @ signs) >= (observed - slack)[i : i + step, None]).sum(axis=1)
            for i in range(0, len(differences), step)
        ]
        return np.asarray((np.concatenate(more) + 1) / (flips + 1), dtype=np.float64)

    return test


def simulated_power(
    rates_a: ArrayLike,
    rates_b: ArrayLike,
    *,
    rng: np.random.Generator,
    repeats_a: int = 1,
    repeats_b: int = 1,
    tasks: int | None = None,
    alpha: float = 0.05,
    simulations: int = 2000,
    test: PairedTest | None = None,
) -> Power:
    """Power of the test in use, from measured or assumed pass rates [T] of both arms at the same tasks.

    Each simulated sweep draws `tasks` tasks with replacement (None: keeps these exact tasks) and binomial counts, and
    hands the differences of rates to the test, by default a sign-flip permutation test.

    >>> found = simulated_power([0.9] * 20, [0.1] * 20, rng=np.random.default_rng(0), simulations=200)
    >>> found.power
    1.0
    """
    a, b = numbers(rates_a, "rates_a"), numbers(rates_b, "rates_b")
    if a.shape != b.shape or a.min() < 0 or b.min() < 0 or a.max() > 1 or b.max() > 1:
        raise ValueError("Rates must lie within 0..1, one per task, for the same tasks in both arms.")
    if tasks is not None:
        drawn = rng.integers(0, a.size, size=(simulations, tasks))
        a, b = a[drawn], b[drawn]
    size = (simulations, a.shape[-1])
    differences = rng.binomial(repeats_a, a, size=size) / repeats_a - rng.binomial(repeats_b, b, size=size) / repeats_b
    p = (test or sign_flip_test())(differences, rng)
    share = float((p <= alpha).mean())
    name = "sign-flip permutation" if test is None else "as given"
    return Power(share, (share * (1 - share) / simulations) ** 0.5, simulations, alpha, name)


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


def _z2(alpha: float, power: float) -> float:
    return float(ndtri(1 - checked_level(alpha) / 2) + ndtri(checked_level(power))) ** 2
