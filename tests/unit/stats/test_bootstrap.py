"""The bootstrap against enumeration, scipy and itself: shared weights, clusters, seeds, and what it refuses."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orchestrator.stats.bootstrap import (
    band,
    bca,
    bootstrap,
    bootstrap_curve,
    bootstrap_ratio,
    percentile,
)
from orchestrator.stats.passk import task_curve
from orchestrator.stats.sample import describe
from orchestrator.stats.weights import unit_weights

Rng = np.random.default_rng


def test_replicates_follow_the_enumerated_distribution() -> None:
    values = np.array([0.0, 0.2, 0.7, 1.0])
    all_means = np.array([np.mean(draw) for draw in product(values, repeat=4)])
    found = bootstrap(values, rng=Rng(1), replicates=40_000).replicates[:, 0]
    for q in (0.05, 0.2, 0.5, 0.8, 0.95):
        at = np.quantile(all_means, q) + 1e-9
        assert (found <= at).mean() == pytest.approx((all_means <= at).mean(), abs=0.012)


@pytest.mark.parametrize("tasks", [40, 400])
def test_drawing_equal_tasks_together_has_the_same_distribution(tasks: int) -> None:
    c = Rng(0).binomial(4, 0.6, tasks) / 4
    jitter = c + Rng(1).normal(0, 1e-9, tasks)
    together = bootstrap(c, rng=Rng(2), replicates=20_000)
    apart = bootstrap(jitter, rng=Rng(3), replicates=20_000)
    assert together.multiplicity.size <= 5
    assert apart.multiplicity.size == tasks
    assert together.replicates.std() == pytest.approx(apart.replicates.std(), rel=0.03)
    both = percentile(together)[0], percentile(apart)[0]
    assert both[0].low == pytest.approx(both[1].low, abs=0.15 * both[0].se)
    assert both[0].high == pytest.approx(both[1].high, abs=0.15 * both[0].se)


def test_agrees_with_scipy() -> None:
    values = Rng(4).beta(2, 1, 60)
    run = bootstrap(values, rng=Rng(5), replicates=40_000)
    for ours, method in ((percentile(run)[0], "percentile"), (bca(run)[0], "BCa")):
        theirs = stats.bootstrap((values,), np.mean, n_resamples=40_000, method=method, rng=Rng(6), batch=2000)
        span = theirs.confidence_interval.high - theirs.confidence_interval.low
        assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.03 * span)
        assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.03 * span)


def test_the_same_seed_gives_the_same_bits() -> None:
    values = Rng(0).random((50, 3))
    one, two, other = (bootstrap(values, rng=Rng(seed), replicates=700).replicates for seed in (9, 9, 10))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_columns_share_their_weights() -> None:
    values = Rng(0).random(80)
    run = bootstrap(np.stack([values, 2 * values + 1], axis=1), rng=Rng(1), replicates=500)
    assert run.replicates[:, 1] == pytest.approx(2 * run.replicates[:, 0] + 1)


def test_a_task_that_counts_twice_in_a_cluster_is_drawn_with_it() -> None:
    values, cluster = [0.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"]
    run = bootstrap(values, rng=Rng(1), cluster=cluster, replicates=4000)
    assert run.units == 2
    assert run.estimand.unit == "task cluster"
    assert set(np.unique(run.replicates)) == {0.0, 0.5, 1.0}
    assert (run.replicates == 0.5).mean() == pytest.approx(0.5, abs=0.04)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=30))
@settings(max_examples=30, deadline=None)
def test_one_task_per_cluster_is_no_clustering(values: list[float]) -> None:
    labels = [f"task-{i:03d}" for i in range(len(values))]
    plain = bootstrap(values, rng=Rng(3), replicates=200)
    named = bootstrap(values, rng=Rng(3), replicates=200, cluster=labels)
    assert np.array_equal(plain.replicates, named.replicates)
    assert plain.replicates.min() >= min(values) - 1e-9
    assert plain.replicates.max() <= max(values) + 1e-9
    assert named.estimand.unit == "task"


def test_columns_with_their_own_tasks_are_means_over_those() -> None:
    values = np.array([[1.0, 1.0], [0.0, 9.0], [1.0, 3.0]])
    present = np.array([[1, 1], [1, 0], [1, 1]])
    run = bootstrap(values, rng=Rng(0), present=present, replicates=5000)
    assert run.estimates == pytest.approx([2 / 3, 2.0])
    second = run.replicates[:, 1]
    assert np.isnan(second).mean() == pytest.approx(1 / 27, abs=0.012)
    assert set(np.unique(second[np.isfinite(second)])) <= {1.0, 5 / 3, 2.0, 7 / 3, 3.0}


def test_replicates_without_the_statistic_are_reported() -> None:
    present = np.zeros(8)
    present[0] = 1
    rare = percentile(bootstrap(np.ones(8), rng=Rng(0), present=present))[0]
    assert rare.low is None
    assert "undefined" in rare.reason
    present[:6] = 1
    common = percentile(bootstrap(Rng(0).random(8), rng=Rng(0), present=present))[0]
    assert common.low is not None


def test_ratio_of_sums() -> None:
    about = describe("cost per solved", [1, 1, 1])
    run = bootstrap_ratio([1.0, 2.0, 6.0], [1.0, 1.0, 2.0], rng=Rng(0), estimand=about)
    assert run.estimates == pytest.approx([2.25])
    assert run.replicates.min() == pytest.approx(1.0)
    assert run.replicates.max() == pytest.approx(3.0)


def test_where_nothing_varies() -> None:
    run = bootstrap([0.7] * 12, rng=Rng(0), replicates=300)
    assert percentile(run)[0].low == pytest.approx(0.7)
    assert "understates" in percentile(run)[0].note
    assert bca(run)[0].low is None
    assert "alike" in bca(run)[0].reason
    assert band(run).critical is None
    alone = percentile(bootstrap([0.7], rng=Rng(0), replicates=300))[0]
    assert (alone.value, alone.low, alone.high) == (0.7, None, None)


def test_the_simultaneous_band_is_wider_and_covers_every_replicate_at_its_level() -> None:
    n = np.full(60, 8)
    c = Rng(1).binomial(8, Rng(0).beta(1, 1, 60))
    run = bootstrap(task_curve(n, c, 8, "pass^k"), rng=Rng(2), statistic="pass^k")
    found = band(run)
    assert found.critical > 1.96
    assert all(b <= p + 0.01 for b, p in zip(found.band_low, found.low, strict=True))
    assert all(b >= p - 0.01 for b, p in zip(found.band_high, found.high, strict=True))
    wide = found.critical * np.array(found.se) * (59 / 60) ** 0.5
    inside = np.all(np.abs(run.replicates - run.estimates) <= wide * (60 / 59) ** 0.5 + 1e-12, axis=1)
    assert inside.mean() >= 0.95
    assert bootstrap_curve(n, c, "pass^k", rng=Rng(2)).band_low == found.band_low


def test_one_statistic_has_a_band_like_its_interval() -> None:
    run = bootstrap(Rng(1).normal(0.5, 0.1, 400), rng=Rng(2))
    found = band(run, bounds=None)
    assert found.critical == pytest.approx(1.96, abs=0.06)
    assert found.band_low[0] == pytest.approx(found.low[0], abs=0.001)


@pytest.mark.parametrize("units", [1, 7, 3000])
def test_weights_draw_every_unit_equally_often(units: int) -> None:
    blocks = list(unit_weights(units, 600, Rng(0)))
    weights = np.concatenate(blocks)
    assert weights.shape == (600, units)
    assert np.all(weights.sum(axis=1) == units)
    assert weights.mean(axis=0) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("values", [[], [np.nan, 1.0], [[[1.0]]], [np.inf]])
def test_values_that_are_none_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="values must be finite"):
        bootstrap(values, rng=Rng(0))
    with pytest.raises(ValueError, match="one label"):
        bootstrap([1.0, 2.0], rng=Rng(0), cluster=["a"])
