"""Intervals against scipy, statsmodels and each other, and the rule that chooses which is quoted."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from orchestrator.stats.intervals import (
    beta_interval,
    clopper_pearson,
    cluster_error,
    korn_graubard,
    mean_interval,
    normal_quantile,
    pooled_wilson,
    quoted_interval,
    t_quantile,
    these_tasks_interval,
    wilson,
    wilson_effective,
)
from orchestrator.stats.sample import TASKS_LIKE_THESE, THESE_TASKS

quiet = settings(deadline=None, max_examples=60)


@quiet
@given(st.integers(1, 400), st.data(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_binomial_intervals_agree_with_statsmodels(n: int, data: st.DataObject, level: float) -> None:
    x = data.draw(st.integers(0, n))
    for ours, name in ((wilson, "wilson"), (clopper_pearson, "beta")):
        theirs = np.clip(proportion_confint(x, n, alpha=1 - level, method=name), 0, 1)
        assert ours(x, n, level) == pytest.approx(tuple(theirs), abs=1e-9)
    low, high = beta_interval(x, n, level)
    if 0 < x < n:
        expected = tuple(proportion_confint(x, n, alpha=1 - level, method="jeffreys"))
        assert (low, high) == pytest.approx(expected, abs=1e-9)
    assert (low == 0.0) or x > 0
    assert (high == 1.0) or x < n


@quiet
@given(st.integers(0, 40), st.integers(1, 40))
def test_wilson_mirrors_and_holds_the_rate(x: int, more: int) -> None:
    n = x + more
    low, high = wilson(x, n)
    assert 0 <= low <= x / n <= high <= 1
    mirrored = wilson(n - x, n)
    assert (low, high) == pytest.approx((1 - mirrored[1], 1 - mirrored[0]), abs=1e-12)


@quiet
@given(st.lists(st.tuples(st.integers(1, 6), st.floats(0, 1)), min_size=3, max_size=15), st.integers(0, 9))
def test_cluster_errors_agree_with_a_fitted_regression(clusters: list[tuple[int, float]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(clusters)), [size for size, _ in clusters])
    y = (rng.random(label.size) < np.repeat([rate for _, rate in clusters], [s for s, _ in clusters])).astype(float)
    y[0], y[-1] = 0.0, 1.0
    fit = sm.OLS(y, np.ones_like(y)).fit(cov_type="cluster", cov_kwds={"groups": label})
    found = cluster_error(np.bincount(label, weights=y), np.bincount(label), "CR1")
    assert found.se == pytest.approx(float(fit.bse[0]), rel=1e-9)
    assert found.mean == pytest.approx(float(fit.params[0]))


def _bell_mccaffrey_df(sizes: list[int]) -> float:
    """Degrees of freedom from the full matrices, without any closed form."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    whole = label.size
    residual_maker = np.eye(whole) - 1 / whole
    columns = []
    for g in range(len(sizes)):
        inside = np.flatnonzero(label == g)
        block = residual_maker[np.ix_(inside, inside)]
        values, vectors = np.linalg.eigh(block)
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        columns.append(residual_maker[inside].T @ root @ np.ones(inside.size) / whole)
    eigenvalues = np.linalg.eigvalsh(np.stack(columns, axis=1).T @ np.stack(columns, axis=1))
    return float(eigenvalues.sum() ** 2 / (eigenvalues**2).sum())


@pytest.mark.parametrize("sizes", [[1, 1, 1], [4, 4, 4, 4], [1, 2, 3, 9], [1, 1, 30], [2, 7, 7, 7, 12]])
def test_satterthwaite_df_from_full_matrices(sizes: list[int]) -> None:
    found = cluster_error(np.arange(len(sizes)), sizes, "CR2")
    assert found.df == pytest.approx(_bell_mccaffrey_df(sizes), rel=1e-8)


@quiet
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_the_mean_over_tasks_is_the_t_interval(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.se == pytest.approx(float(np.std(values, ddof=1)) / len(values) ** 0.5, abs=1e-12)
    assert found.df == pytest.approx(len(values) - 1)
    if found.se > 1e-9:
        expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), found.se)
        assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-9)


def test_clusters_widen_the_interval_and_name_the_unit() -> None:
    values = np.repeat([0.0, 1.0, 0.2, 0.9, 0.4, 0.7], 5)
    alone, together = mean_interval(values), mean_interval(values, cluster=np.repeat(np.arange(6), 5))
    assert together.se > 1.8 * alone.se
    assert together.df == pytest.approx(5)
    assert (alone.estimand.unit, together.estimand.unit) == ("task", "task cluster")
    assert together.estimand.population == TASKS_LIKE_THESE


def test_korn_graubard_is_clopper_pearson_on_the_shrunk_effective_size() -> None:
    rng = np.random.default_rng(0)
    n = np.full(40, 10)
    values = rng.binomial(10, rng.beta(2, 1, 40)) / 10
    found = korn_graubard(values, n=n)
    p, se = values.mean(), values.std(ddof=1) / 40**0.5
    size = p * (1 - p) / se**2 * (stats.t.ppf(0.975, 399) / stats.t.ppf(0.975, 39)) ** 2
    expected = (
        stats.beta.ppf(0.025, p * size, size - p * size + 1),
        stats.beta.ppf(0.975, p * size + 1, size - p * size),
    )
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert f"{size:.1f} of 400" in found.note
    tighter = wilson_effective(values, n=n)
    assert found.low < tighter.low < p < tighter.high < found.high


@pytest.mark.parametrize("solved", [0.0, 1.0])
def test_where_all_tasks_agree_the_clusters_stand_in(solved: float) -> None:
    found = korn_graubard([solved] * 28, n=[10] * 28)
    assert (found.low, found.high) == pytest.approx(clopper_pearson(28 * solved, 28))
    clustered = korn_graubard([solved] * 28, n=[10] * 28, cluster=np.arange(28) // 4)
    assert clustered.high - clustered.low > found.high - found.low


def test_the_effective_size_never_exceeds_the_trials() -> None:
    found = korn_graubard([0.5] * 6, n=[2] * 6)
    assert (found.low, found.high) == pytest.approx(clopper_pearson(6, 12))


def test_these_exact_tasks_carry_no_spread_between_tasks() -> None:
    n, c = np.full(30, 10), np.array([10] * 15 + [0] * 14 + [5])
    exact, like = these_tasks_interval(n, c), mean_interval(c / n)
    assert exact.se == pytest.approx((0.25 / 9) ** 0.5 / 30)
    assert exact.se < like.se / 10
    assert exact.estimand.population == THESE_TASKS
    assert "not an interval for tasks like these" in pooled_wilson(n, c).note
    assert "understates" in these_tasks_interval([5, 5], [5, 0]).note


def test_a_single_trial_leaves_the_noise_within_tasks_unknown() -> None:
    found = these_tasks_interval([1, 5], [1, 2])
    assert (found.low, found.value) == (None, 0.7)
    assert "1 tasks have a single trial" in found.reason


def test_one_cluster_has_no_interval() -> None:
    for call in (mean_interval, korn_graubard, wilson_effective):
        found = call([0.2, 0.4], cluster=["a", "a"])
        assert (found.low, found.high) == (None, None)
        assert found.value == pytest.approx(0.3)
        assert "One cluster" in found.reason


@pytest.mark.parametrize(
    ("tasks", "rate", "method"),
    [(99, True, "Korn-Graubard"), (100, True, "percentile"), (28, False, "CR2 and t"), (100, False, "percentile")],
)
def test_the_quoted_interval_follows_its_rule(tasks: int, rate: bool, method: str) -> None:
    rng = np.random.default_rng(0)
    found = quoted_interval(rng.random(tasks), rng=rng, rate=rate, replicates=200)
    assert found.quoted.estimand.method.startswith(method)
    assert found.beside.estimand.method != found.quoted.estimand.method
    assert str(100) in found.rule


def test_the_rule_counts_what_is_resampled_and_can_be_overridden() -> None:
    rng = np.random.default_rng(0)
    values = rng.random(200)
    clustered = quoted_interval(values, rng=rng, cluster=np.arange(200) // 10, replicates=200)
    assert clustered.quoted.estimand.method == "Korn-Graubard"
    forced = quoted_interval(values[:20], rng=rng, replicates=200, bootstrap_from=0)
    assert forced.quoted.estimand.method.startswith("percentile")


def test_scores_outside_0_and_1_are_no_rates() -> None:
    with pytest.raises(ValueError, match="mean_interval"):
        korn_graubard([0.0, 3.0])
    assert "leaves 0..1" in mean_interval([0.0, 0.0, 1.0]).note
    assert mean_interval([0.0, 3.0, 4.0]).note is None


def test_quantiles_and_their_limits() -> None:
    assert normal_quantile(0.9) == pytest.approx(stats.norm.ppf(0.95))
    assert t_quantile(0.99, 7) == pytest.approx(stats.t.ppf(0.995, 7))
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(ValueError, match="confidence level"):
            normal_quantile(level)
    with pytest.raises(ValueError, match="0 <= x <= n"):
        wilson(3, 2)
