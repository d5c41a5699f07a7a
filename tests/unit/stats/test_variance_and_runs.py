"""Variance parts, run-to-run noise, task lists and cost against simulation, enumeration and hand-made cases."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.stats.cost import cost_per_solved, middle
from orchestrator.stats.runs import run_to_run, shuffle_test
from orchestrator.stats.tasks import task_lists
from orchestrator.stats.variance import trial_variances, variance_parts

Rng = np.random.default_rng
quiet = settings(deadline=None, max_examples=40)


def test_dealing_passes_over_repeats_gives_what_permuting_gives() -> None:
    rng = Rng(3)
    table = (rng.random((60, 6)) < rng.beta(1, 1, 60)[:, None]).astype(float)
    dealt = shuffle_test(table, rng=Rng(0), shuffles=20_000)
    # Scores of 0 and 2 are no passes and fails, so they are permuted; the spread of their sums is the same but for scale.
    permuted = shuffle_test(2 * table, rng=Rng(1), shuffles=20_000)
    assert not dealt.exact
    assert dealt.p_uneven == pytest.approx(permuted.p_uneven, abs=0.015)
    assert dealt.p_even == pytest.approx(permuted.p_even, abs=0.015)


def test_the_unbiased_parts_are_unbiased_with_unequal_n() -> None:
    rng, n = Rng(0), np.array([2, 3, 5, 9] * 10)
    found = []
    for _ in range(2000):
        parts = variance_parts(n, rng.binomial(n, rng.beta(2, 2, 40)))
        found.append((parts.between_raw, parts.within_unbiased, parts.within_plugin))
    between, within, plugin = np.mean(found, axis=0)
    assert between == pytest.approx(0.05, abs=0.0015)
    assert within == pytest.approx(0.2, abs=0.002)
    assert plugin < 0.16


@quiet
@given(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=6), min_size=2, max_size=8))
def test_scores_of_0_and_1_are_passes(outcomes: list[list[int]]) -> None:
    n, c = [len(task) for task in outcomes], [sum(task) for task in outcomes]
    assert variance_parts(n, c) == variance_parts(n, c, c)
    plugin, unbiased = trial_variances(n, c)
    assert plugin == pytest.approx([np.var(task) for task in outcomes])
    assert unbiased == pytest.approx([np.var(task, ddof=1) for task in outcomes])


def test_graded_scores_from_sums_and_squares() -> None:
    scores = Rng(1).random((12, 4))
    parts = variance_parts(np.full(12, 4), scores.sum(axis=1), (scores**2).sum(axis=1))
    assert parts.within_unbiased == pytest.approx(scores.var(axis=1, ddof=1).mean())
    assert parts.observed == pytest.approx(scores.mean(axis=1).var(ddof=1))
    pooled = scores.var() / scores.size
    assert parts.design_effect == pytest.approx(parts.se_now**2 / pooled)


def test_a_negative_between_variance_is_shown_and_clipped() -> None:
    parts = variance_parts([4, 4, 4], [2, 2, 2])
    assert parts.between_raw == pytest.approx(-1 / 12)
    assert (parts.between_unbiased, parts.icc, parts.removable_share) == (0.0, 0.0, None)
    assert "clipped" in parts.note


def test_what_repeats_can_still_remove() -> None:
    flat = variance_parts([5] * 2000, Rng(0).binomial(5, 0.5, 2000))
    assert flat.removable_share == pytest.approx(1, abs=0.1)
    steep = variance_parts([5] * 40, [0, 5] * 20)
    assert steep.removable_share == 0.0
    assert steep.se_infinite_repeats == pytest.approx(steep.se_now)
    assert steep.design_effect == pytest.approx(5 * 40 / 39)


def test_variance_refusals() -> None:
    assert "single trial" in variance_parts([1, 5], [1, 2]).reason
    assert variance_parts([1, 5], [1, 2]).within_unbiased is None
    assert variance_parts([1, 5], [1, 2]).se_now == pytest.approx(0.3)
    assert "Below 2 tasks" in variance_parts([5], [2]).reason
    alike = variance_parts([5, 5], [5, 5])
    assert (alike.icc, alike.design_effect) == (None, None)
    assert alike.reason


@quiet
@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=2, max_size=3))
def test_exact_shuffles_count_all_permutations(outcomes: list[list[int]]) -> None:
    table = np.array(outcomes)
    found = shuffle_test(table, rng=Rng(0))
    mixed = table[(table.min(axis=1) < table.max(axis=1))]
    if not len(mixed):
        assert found is None
        return
    spreads = [np.var(np.sum(rows, axis=0)) for rows in product(*(list(permutations(row)) for row in mixed))]
    observed = np.var(mixed.sum(axis=0))
    assert found.exact
    assert found.p_uneven == pytest.approx(np.mean(np.array(spreads) >= observed - 1e-12))
    assert found.p_even == pytest.approx(np.mean(np.array(spreads) <= observed + 1e-12))
    assert found.p == pytest.approx(min(1, 2 * min(found.p_uneven, found.p_even)))


def test_monte_carlo_agrees_with_the_exact_test() -> None:
    table = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0]], dtype=float)
    exact = shuffle_test(table, rng=Rng(0))
    # Twice the outcomes are the same test, but no longer pass or fail, and so no longer counted exactly.
    sampled = shuffle_test(2 * table, rng=Rng(0), shuffles=20_000)
    assert (exact.exact, sampled.exact) == (True, False)
    assert sampled.p_uneven == pytest.approx(exact.p_uneven, abs=0.015)
    assert sampled.p_even == pytest.approx(exact.p_even, abs=0.015)


def test_too_even_and_too_uneven_are_both_found() -> None:
    even = np.array([np.roll([1.0] * 5 + [0.0] * 5, i) for i in range(40)])
    uneven = np.tile([1.0] * 5 + [0.0] * 5, (40, 1))
    for table, side in ((even, "p_even"), (uneven, "p_uneven")):
        found = shuffle_test(table, rng=Rng(0), shuffles=999)
        assert getattr(found, side) == pytest.approx(1 / 1000)
        assert found.p == pytest.approx(2 / 1000)


def test_two_single_runs_must_differ_by() -> None:
    rng, rates = Rng(3), Rng(2).beta(1, 1, 600)
    table = (rng.random((600, 40)) < rates[:, None]).astype(float)
    found = run_to_run(table, rng=rng, shuffles=99)
    assert found.predicted_unbiased == pytest.approx((rates * (1 - rates)).sum() ** 0.5 / 600, rel=0.05)
    assert found.predicted_plugin == pytest.approx(found.predicted_unbiased * (39 / 40) ** 0.5)
    assert found.must_differ == pytest.approx(1.959964 * 2**0.5 * found.predicted_unbiased, rel=1e-6)
    pairs = (rng.random((2, 4000, 600)) < rates).mean(axis=2)
    assert (np.abs(pairs[0] - pairs[1]) > found.must_differ).mean() == pytest.approx(0.05, abs=0.015)


def test_runs_keep_out_incomplete_tasks_and_refuse_single_repeats() -> None:
    found = run_to_run([[1, 0, np.nan], [1, 1, 0], [0, 0, 0]], rng=Rng(0))
    assert (found.left_out, found.estimand.tasks) == (1, 2)
    assert found.scores == (0.5, 0.5, 0.0)
    single = run_to_run([[1], [0]], rng=Rng(0))
    assert (single.sd, single.scores) == (None, (0.5,))
    assert "single repeat" in single.reason
    assert run_to_run([[np.nan, 1]], rng=Rng(0)).reason == "There is no task with every repeat."
    assert run_to_run([[1, 1], [0, 0]], rng=Rng(0)).test is None


@quiet
@given(st.lists(st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1))
def test_every_task_stands_in_exactly_one_list(cells: list[tuple[int, int]]) -> None:
    found = task_lists([n for n, _ in cells], [c for _, c in cells])
    assert sorted(found.flaky + found.never + found.always) == list(range(len(cells)))
    assert all(0 < cells[i][1] < cells[i][0] for i in found.flaky)
    assert all(cells[i][0] == 1 for i in found.single)


def test_cost_per_solved_is_a_ratio_of_sums() -> None:
    found = cost_per_solved([1.0, 5.0, 3.0], [2, 0, 1])
    assert found.value == pytest.approx(3.0)
    assert 0 < found.low < 3.0 < found.high
    residual = np.array([1.0, 5.0, 3.0]) - 3.0 * np.array([2, 0, 1])
    assert found.se == pytest.approx((1.5 * (residual**2).sum()) ** 0.5 / 3)
    scaled = cost_per_solved([100.0, 500.0, 300.0], [2, 0, 1])
    assert (scaled.low, scaled.high) == pytest.approx((100 * found.low, 100 * found.high))


def test_cost_is_undefined_at_no_passes() -> None:
    found = cost_per_solved([1.0, 2.0], [0, 0])
    assert (found.value, found.low) == (None, None)
    assert "No trial passed" in found.reason
    assert cost_per_solved([1.0], [1]).low is None
    assert cost_per_solved([0.0, 0.0], [1, 1]).value == 0.0
    with pytest.raises(ValueError, match="no cost below 0"):
        cost_per_solved([-1.0, 2.0], [1, 1])


def test_middle_leaves_out_what_was_not_measured() -> None:
    found = middle([3.0, np.nan, 1.0, 2.0])
    assert (found.median, found.trials) == (2.0, 3)
    assert middle([np.nan]).median is None
    assert middle([]).reason == "No trial has a value."
