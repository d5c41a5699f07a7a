"""Planning, the hierarchical model and the check of printed figures, against simulation and brute force."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from orchestrator.stats.bayes import beta_tail, hierarchical, posterior_pass_hat_k
from orchestrator.stats.grim import grim, invert_pass_at, invert_pass_hat
from orchestrator.stats.passk import pass_at_k, pass_hat_k, task_values
from orchestrator.stats.planning import (
    Noise,
    Prices,
    RatePool,
    best_repeats,
    budget,
    cheapest_design,
    design_error,
    estimator_variance,
    noise_between,
    normal_power,
    sign_flip_test,
    simulated_power,
    smallest_difference,
    tasks_needed,
)

Rng = np.random.default_rng
quiet = settings(deadline=None, max_examples=40)


@quiet
@given(st.floats(0.001, 0.3), st.floats(0, 0.25), st.floats(0.01, 0.3), st.integers(1, 20))
def test_tasks_and_the_smallest_difference_are_inverse(
    omega2: float, sigma2: float, delta: float, repeats: int
) -> None:
    noise = Noise(omega2, sigma2, sigma2 / 2)
    needed = tasks_needed(noise, delta, repeats_a=repeats, repeats_b=2 * repeats)
    assert needed.tasks >= needed.exact - 1e-6
    at = smallest_difference(noise, needed.tasks, repeats_a=repeats, repeats_b=2 * repeats)
    assert at <= delta + 1e-9
    if needed.tasks > 1:
        assert smallest_difference(noise, needed.tasks - 1, repeats_a=repeats, repeats_b=2 * repeats) > delta - 1e-9
    power = normal_power(noise, delta, needed.tasks, repeats_a=repeats, repeats_b=2 * repeats)
    assert power >= 0.8 - 1e-9


def test_simulated_power_meets_the_formula_at_many_tasks_and_falls_below_it_at_28() -> None:
    pool = Rng(0).beta(1, 1, 4000)
    better = np.clip(pool + 0.1 * (pool < 0.9), 0, 1)
    difference = float((better - pool).mean())
    sigma_a, sigma_b = (float((r * (1 - r)).mean()) for r in (better, pool))
    noise = Noise(float((better - pool).var()), sigma_a, sigma_b)
    many = simulated_power(better, pool, rng=Rng(1), repeats_a=7, repeats_b=6, tasks=200, simulations=1500)
    assert many.power == pytest.approx(normal_power(noise, difference, 200, repeats_a=7, repeats_b=6), abs=0.03)
    few = simulated_power(better, pool, rng=Rng(2), tasks=28, simulations=3000)
    assert few.power < normal_power(noise, difference, 28) - 3 * few.error


def test_power_keeps_exact_tasks_takes_any_test_and_its_size_under_the_null() -> None:
    rates = np.linspace(0.1, 0.9, 60)
    null = simulated_power(rates, rates, rng=Rng(3), repeats_a=5, repeats_b=5, simulations=4000)
    assert null.power == pytest.approx(0.05, abs=0.012)
    never = simulated_power(rates, rates[::-1], rng=Rng(3), simulations=50, test=lambda d, rng: np.ones(len(d)))
    assert (never.power, never.test) == (0.0, "as given")
    assert simulated_power([1.0] * 30, [0.0] * 30, rng=Rng(0), simulations=20).power == 1.0


def test_sign_flips_agree_with_all_flips() -> None:
    difference = np.array([[0.4, -0.1, 0.3, 0.2, 0.2, -0.2, 0.5, 0.1]])
    signs = np.array(list(product((-1, 1), repeat=8)))
    exact = float(np.mean(np.abs(signs @ difference[0]) >= abs(difference.sum()) - 1e-12))
    assert sign_flip_test(20_000)(difference, Rng(0))[0] == pytest.approx(exact, abs=0.012)


@pytest.mark.parametrize("statistic", ["pass@k", "pass^k"])
def test_the_variance_of_the_estimator_is_what_simulation_finds(statistic: str) -> None:
    c = Rng(0).binomial(7, 0.35, 200_000)
    found = estimator_variance(0.35, 7, 3, statistic)
    assert found == pytest.approx(task_values(np.full(c.size, 7), c, 3, statistic).var(), rel=0.02)
    assert estimator_variance(0.0, 7, 3, statistic) == 0.0
    assert estimator_variance(1.0, 7, 3, statistic) == 0.0


def test_design_error_is_what_sweeps_scatter_by() -> None:
    pool = RatePool.measured([0.1, 0.5, 0.9, 1.0])
    rates = Rng(0).choice(pool.rates, size=(4000, 30))
    c = Rng(1).binomial(4, rates)
    means = task_values(np.full(c.size, 4), c.ravel(), 2, "pass^k").reshape(c.shape).mean(axis=1)
    assert design_error(pool, 30, 4, 2, "pass^k") == pytest.approx(means.std(), rel=0.04)


def test_beta_pools_have_the_moments_of_the_beta() -> None:
    pool = RatePool.beta(0.6, 1.7)
    for k in (1, 2, 5):
        moment = float(np.array(pool.weights) @ np.array(pool.rates) ** k)
        assert moment == pytest.approx(stats.beta(0.6, 1.7).moment(k), rel=1e-10)


def test_budgets_respect_the_pool_and_k() -> None:
    designs = budget(
        RatePool.beta(1, 1), 60, k=3, tasks_available=8, repeats=[1, 3, 6, 20, 100], prices=Prices(2.0, 5.0)
    )
    assert [(d.tasks, d.repeats) for d in designs] == [(8, 3), (8, 6), (3, 20)]
    assert [d.cost_usd for d in designs] == [8 * 5 + 48, 8 * 5 + 96, 3 * 5 + 120]
    with pytest.raises(ValueError, match="cannot estimate"):
        design_error(RatePool.beta(1, 1), 10, 2, 3)


def test_the_cheapest_design_reaches_its_target_and_no_other_does_for_less() -> None:
    pool, repeats, prices = RatePool.beta(2, 1), range(1, 16), Prices(trial_usd=0.1, task_usd=0.6)
    found = cheapest_design(pool, 0.03, k=1, tasks_available=300, repeats=repeats, prices=prices).design
    assert found.se <= 0.03
    for tasks, r in product(range(1, 301), repeats):
        if tasks * (0.6 + r * 0.1) < found.cost_usd - 1e-9:
            assert design_error(pool, 1, r, 1) / tasks**0.5 > 0.03
    ideal = best_repeats(1 / 6, 1 / 18, prices)
    assert abs(found.repeats - ideal) <= 1
    refused = cheapest_design(pool, 0.001, tasks_available=300, repeats=repeats)
    assert refused.design is None
    assert "300 tasks" in refused.reason


def test_refused_plans() -> None:
    with pytest.raises(ValueError, match="difference of 0"):
        tasks_needed(Noise(0.1, 0.1, 0.1), 0.0)
    with pytest.raises(ValueError, match="at least one repeat"):
        Noise(0.1, 0.1, 0.1).per_task(0, 1)
    with pytest.raises(ValueError, match="same tasks"):
        simulated_power([0.5], [0.5, 0.5], rng=Rng(0))
    assert best_repeats(0.1, 0.0, Prices()) is None


@quiet
@given(st.integers(1, 30), st.integers(1, 12), st.data())
def test_the_posterior_of_one_task_is_an_integral(n: int, k: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    expected = integrate.quad(lambda p: p**k * stats.beta.pdf(p, 1 + c, 1 + n - c), 0, 1, limit=200)[0]
    assert posterior_pass_hat_k(n, c, k) == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert beta_tail(0.3, n, c) == pytest.approx(stats.beta.sf(0.3, 1 + c, 1 + n - c), abs=1e-12)


def test_the_hierarchical_fit_finds_the_truth_and_labels_extrapolation() -> None:
    n = np.full(1500, 6)
    c = Rng(0).binomial(6, Rng(1).beta(2, 1, 1500))
    fit = hierarchical(n, c, ks=(1, 6, 12))
    assert fit.rate.mean == pytest.approx(2 / 3, abs=0.02)
    assert fit.rate.low < 2 / 3 < fit.rate.high
    assert fit.correlation == pytest.approx(1 / 4, abs=0.03)
    truth = [stats.beta(2, 1).moment(k) for k in (1, 6, 12)]
    assert [p.mean for p in fit.pass_hat] == pytest.approx(truth, abs=0.02)
    assert [p.extrapolated for p in fit.pass_hat] == [False, False, True]
    assert "extrapolation" in fit.pass_hat[2].note
    assert fit.pass_hat[1].mean == pytest.approx(pass_hat_k(n, c, 6).value, abs=0.02)


def test_the_hierarchical_fit_on_a_grid_is_the_integral_by_brute_force() -> None:
    n, c = np.array([5, 5, 5, 8]), np.array([5, 4, 1, 0])
    m, rho = (np.arange(600) + 0.5)[:, None] / 600, (np.arange(600) + 0.5) / 600
    a, b = m * (1 / rho - 1), (1 - m) * (1 / rho - 1)
    mass = np.prod([stats.betabinom.pmf(passes, trials, a, b) for trials, passes in zip(n, c, strict=True)], axis=0)
    fit = hierarchical(n, c, ks=(3,))
    assert fit.rate.mean == pytest.approx(float((mass * m).sum() / mass.sum()), abs=2e-4)
    assert fit.correlation == pytest.approx(float((mass * rho).sum() / mass.sum()), abs=5e-4)
    held = np.cumsum(mass.sum(axis=1)) / mass.sum()
    assert fit.rate.low == pytest.approx(float(m[np.searchsorted(held, 0.025), 0]), abs=0.004)
    assert fit.rate.high == pytest.approx(float(m[np.searchsorted(held, 0.975), 0]), abs=0.004)


def test_saturated_and_single_tasks_in_the_hierarchical_fit() -> None:
    full = hierarchical([10] * 28, [10] * 28)
    assert 0.9 < full.rate.low < full.rate.mean < 1
    alone = hierarchical([10], [5], ks=(1, 20))
    assert (alone.rate.mean, alone.pass_hat[0].mean) == (None, None)
    assert "Below 2 tasks" in alone.rate.reason


@quiet
@given(st.integers(1, 60), st.integers(0, 3), st.data())
def test_grim_finds_every_count_that_prints_so(total: int, decimals: int, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, total))
    printed = f"{100 * x / total:.{decimals}f}"
    found = grim(printed, total)
    assert x in found.counts
    same = [y for y in range(total + 1) if f"{100 * y / total:.{decimals}f}" == printed]
    assert set(same) <= set(found.counts)
    assert len(found.counts) <= len(same) + 1


@quiet
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(1, 2))
def test_inversion_finds_the_histogram_it_came_from_and_only_ones_that_print_alike(c: list[int], decimals: int) -> None:
    def figures(passes: list[int]) -> list[float]:
        return [100 * pass_hat_k([3] * len(passes), passes, k).value for k in (1, 2, 3)]

    printed = tuple(f"{v:.{decimals}f}" for v in figures(c))
    found = invert_pass_hat(printed, len(c))
    assert tuple(c.count(i) for i in range(4)) in found.histograms
    for histogram in found.histograms:
        again = figures([i for i, times in enumerate(histogram) for _ in range(times)])
        assert again == pytest.approx([float(text) for text in printed], abs=0.5000001 * 10**-decimals)


@quiet
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(1, 2))
def test_inversion_of_pass_at_k_finds_the_histogram_it_came_from(c: list[int], decimals: int) -> None:
    printed = tuple(f"{100 * pass_at_k([3] * len(c), c, k).value:.{decimals}f}" for k in (1, 2, 3))
    assert tuple(c.count(i) for i in range(4)) in invert_pass_at(printed, len(c)).histograms
    assert not invert_pass_at(("100.0", "50.0", "100.0"), len(c)).attainable


def test_figures_that_no_counts_can_print_are_refused() -> None:
    assert not grim("33.0", 10).possible
    assert "No whole count of 10" in grim("33.0", 10).reason
    found = invert_pass_hat(("72.1", "66.8", "63.2", "59.7"), 114)
    assert (found.attainable, found.unique) == (False, False)
    assert found.reason
    loose = invert_pass_hat(("50", "40", "30"), 400, limit=10)
    assert loose.truncated
    assert not loose.unique


def test_noise_between_arms_leaves_out_what_trials_add() -> None:
    rng = np.random.default_rng(0)
    tasks, n = 40_000, np.full(40_000, 5)
    base = rng.uniform(0.2, 0.8, tasks)
    other = base + rng.choice([-0.15, 0.15], tasks)
    found = noise_between(n, rng.binomial(5, base), n, rng.binomial(5, other))
    assert found.omega2 == pytest.approx(0.15**2, abs=2e-3)
    assert found.sigma2_a == pytest.approx((base * (1 - base)).mean(), abs=2e-3)
    same = noise_between(n[:50], np.full(50, 2), n[:50], np.full(50, 2))
    assert same.omega2 == 0.0
    with pytest.raises(ValueError, match="2 tasks with 2 trials"):
        noise_between([1, 1], [0, 1], [1, 1], [1, 0])
