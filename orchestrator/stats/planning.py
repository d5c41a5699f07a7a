"""How many tasks and repeats a question needs: sample size, power of the test in use, and the cheapest design.

Sample size: Miller 2024 (arXiv 2411.00640), section 5. Power is simulated with the test that will be used, because
the normal formula promises too much at few tasks. Budgets are in `designs`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from orchestrator.stats.designs import Prices as Prices
from orchestrator.stats.designs import RatePool as RatePool
from orchestrator.stats.designs import best_repeats as best_repeats
from orchestrator.stats.designs import budget as budget
from orchestrator.stats.designs import cheapest_design as cheapest_design
from orchestrator.stats.designs import design_error as design_error
from orchestrator.stats.designs import estimator_variance as estimator_variance
from orchestrator.stats.sample import Floats, checked_level, counts, numbers
from orchestrator.stats.variance import trial_variances

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


def noise_between(n_a: ArrayLike, c_a: ArrayLike, n_b: ArrayLike, c_b: ArrayLike) -> Noise:
    """The variances behind a paired comparison, measured: trials n [T] and passes c [T] of both arms, same tasks.

    omega2 is the variance of the tasks' differences less what the noise of their trials adds, and 0 where that is
    negative (Miller 2024, section 5). Raises ValueError below 2 tasks with 2 trials of each arm.

    >>> noise = noise_between([4] * 4, [0, 1, 3, 4], [4] * 4, [4, 1, 3, 0])
    >>> round(noise.omega2, 4), noise.sigma2_a
    (0.6042, 0.125)
    """
    (na, a), (nb, b) = counts(n_a, c_a), counts(n_b, c_b)
    if na.shape != nb.shape:
        raise ValueError("Both arms need the same tasks, in the same order.")
    repeated = (na > 1) & (nb > 1)
    if repeated.sum() < 2:
        raise ValueError("Below 2 tasks with 2 trials of each arm the noise within tasks is unknown.")
    na, a, nb, b = na[repeated], a[repeated], nb[repeated], b[repeated]
    within_a, within_b = trial_variances(na, a)[1], trial_variances(nb, b)[1]
    added = float(np.mean(within_a / na + within_b / nb))
    seen = float(np.var(b / nb - a / na, ddof=1))
    return Noise(max(0.0, seen - added), float(within_a.mean()), float(within_b.mean()))


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


def _z2(alpha: float, power: float) -> float:
    return float(ndtri(1 - checked_level(alpha) / 2) + ndtri(checked_level(power))) ** 2
