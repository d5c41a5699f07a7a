"""Sign-flip, paired comparisons, families of them and equivalence, against enumeration, scipy and statsmodels."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from orchestrator.stats import equivalence, multiple, paired, signflip

TENTHS = st.integers(-10, 10).map(lambda v: v / 10)


def generator(seed=0):
    return np.random.default_rng(seed)


def enumerated(values, side):
    observed = sum(values)
    sums = [sum(s * v for s, v in zip(signs, values, strict=True)) for signs in product((1, -1), repeat=len(values))]
    if side == "two-sided":
        return np.mean([abs(s) >= abs(observed) - 1e-9 for s in sums])
    return np.mean([s >= observed - 1e-9 if side == "greater" else s <= observed + 1e-9 for s in sums])


@given(st.lists(TENTHS, min_size=1, max_size=8), st.sampled_from(["two-sided", "greater", "less"]))
@settings(max_examples=60, deadline=None)
def test_exact_sign_flip_equals_enumeration(values, side):
    found = signflip.sign_flip(values, rng=generator(), alternative=side)
    assert found.exact
    assert found.p == pytest.approx(enumerated(values, side))


@given(st.lists(TENTHS, min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_swapping_the_arms_and_adding_ties_leave_p_alone(values):
    p = signflip.sign_flip(values, rng=generator()).p
    assert signflip.sign_flip([-v for v in values], rng=generator()).p == p
    assert signflip.sign_flip([*values, 0.0, 0.0], rng=generator()).p == p


def test_monte_carlo_is_never_zero_repeats_by_seed_and_agrees_with_exact():
    values = np.linspace(-0.2, 0.6, 20)
    exact = signflip.sign_flip(values, rng=generator()).p
    longer = np.concatenate([values, [1e-6]])
    first, again = (signflip.sign_flip(longer, rng=generator(4), flips=50_000) for _ in range(2))
    assert (first.exact, first.flips) == (False, 50_000)
    assert first == again
    assert first.p == pytest.approx(exact, abs=4 * (exact / 50_000) ** 0.5)
    assert signflip.sign_flip(np.ones(30), rng=generator(), flips=99).p == 1 / 100


def test_the_limit_of_exactness_is_twenty_units():
    assert signflip.sign_flip(np.ones(20), rng=generator()).p == 2 / 2**20
    assert not signflip.sign_flip(np.ones(21), rng=generator(), flips=10).exact


def test_clusters_flip_together():
    values, cluster = [0.5, 0.5, 0.5, -0.25], [0, 0, 1, 2]
    found = signflip.sign_flip(values, rng=generator(), cluster=cluster)
    assert found.p == signflip.sign_flip([1.0, 0.5, -0.25], rng=generator()).p
    assert (found.units, found.estimand.unit) == (3, "task cluster")
    assert found.note is not None


def test_no_task_is_undefined_and_bad_input_refused():
    empty = signflip.sign_flip([], rng=generator())
    assert empty.p is None
    assert empty.reason
    with pytest.raises(ValueError, match="finite"):
        signflip.sign_flip([np.nan], rng=generator())
    with pytest.raises(ValueError, match="alternative"):
        signflip.sign_flip([1.0], rng=generator(), alternative="both")


def test_sign_blocks_are_fair_and_shared():
    signs = np.concatenate(list(signflip.sign_blocks(13, 40_000, generator())))
    assert signs.shape == (40_000, 13)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert np.abs(signs.mean(axis=0)).max() < 0.02
    assert np.abs(np.corrcoef(signs.T) - np.eye(13)).max() < 0.03


@pytest.mark.parametrize("units", [21, 24, 67])
def test_random_flips_are_those_of_the_shared_signs(units: int):
    gaps = generator(2).normal(0.2, 1.0, units)
    signs = np.concatenate(list(signflip.sign_blocks(units, 5_000, generator())))
    reached = int((np.abs(signs @ gaps) >= abs(gaps.sum()) - 1e-9).sum())
    assert signflip.sign_flip(gaps, rng=generator(), flips=5_000).p == (reached + 1) / 5_001


def test_paired_equals_scipys_paired_t():
    a, b = generator(1).uniform(size=(2, 15))
    found = paired.paired_values(a, b, rng=generator())
    truth = oracle.ttest_rel(b, a).confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx((truth.low, truth.high))
    assert found.correlation == pytest.approx(oracle.pearsonr(a, b)[0])
    assert found.helped + found.hurt + found.tied == 15
    assert found.difference.value == pytest.approx(found.second - found.first)


def test_paired_pass_by_hand_and_exact_tasks():
    found = paired.paired_pass([4, 4], [2, 4], [4, 4], [3, 4], 2, "pass^k", rng=generator())
    assert found.difference.value == pytest.approx((3 / 6 - 1 / 6) / 2)
    assert (found.estimand.statistic, found.estimand.k, found.exact_tasks) == ("pass^k", 2, None)
    one = paired.paired_pass([4, 4], [2, 4], [4, 4], [3, 4], rng=generator())
    assert one.exact_tasks.se == pytest.approx((0.25 / 3 + 0.1875 / 3) ** 0.5 / 2)
    single = paired.paired_pass([1, 1], [1, 0], [1, 1], [0, 1], rng=generator())
    assert single.exact_tasks.low is None
    assert "single" in single.exact_tasks.reason


def test_paired_refuses_k_beyond_n_and_unmatched_tasks():
    found = paired.paired_pass([5, 2], [1, 1], [5, 5], [1, 1], 3, rng=generator())
    assert found.difference is None
    assert "fewer than k = 3" in found.reason
    with pytest.raises(ValueError, match="same tasks"):
        paired.paired_values([1.0], [1.0, 0.0], rng=generator())
    constant = paired.paired_values([1.0] * 4, [0.0, 1.0, 0.0, 1.0], rng=generator())
    assert constant.correlation is None
    assert "first arm" in constant.correlation_reason


def test_scores_and_counts_tell_the_same_story():
    n, a, b = np.array([5, 5, 5, 5]), np.array([1, 4, 2, 5]), np.array([3, 4, 1, 5])
    cells = paired.paired_pass(n, a, n, b, rng=generator())
    sums = paired.paired_score(n, a, n, b, rng=generator(), total_sq_first=a, total_sq_second=b, statistic="pass@1")
    assert sums == cells


def test_exact_tasks_interval_covers_when_tasks_are_fixed():
    p, n, rng = np.linspace(0.05, 0.95, 30), np.full(30, 5), generator(5)
    held = 0
    for _ in range(400):
        a, b = rng.binomial(5, p, (2, 30))
        found = paired.paired_pass(n, a, n, b, rng=rng, flips=1).exact_tasks
        held += found.low <= 0 <= found.high
    assert 0.92 <= held / 400 <= 0.98


P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=15)


@given(P_VALUES)
@settings(max_examples=25, deadline=None)
def test_adjusted_p_values_equal_statsmodels(p):
    for ours, name in [
        (multiple.holm, "holm"),
        (multiple.bonferroni, "bonferroni"),
        (multiple.benjamini_hochberg, "fdr_bh"),
        (multiple.benjamini_yekutieli, "fdr_by"),
    ]:
        assert ours(p) == pytest.approx(multipletests(p, method=name)[1])


def test_undefined_p_values_are_refused():
    with pytest.raises(ValueError, match="undefined"):
        multiple.holm([0.1, np.nan])


def test_two_arms_give_the_sign_flip_test():
    a, b = generator(2).uniform(size=(2, 12))
    pair = multiple.all_pairs(np.stack([a, b]), rng=generator(), flips=40_000).pairs[0]
    exact = signflip.sign_flip(b - a, rng=generator()).p
    assert pair.p == pair.p_adjusted == pytest.approx(exact, abs=0.01)


def test_step_down_lies_between_raw_and_bonferroni_and_keeps_order():
    values = generator(3).uniform(size=(6, 30)) + np.linspace(0, 0.4, 6)[:, None]
    found = multiple.all_pairs(values, rng=generator(), flips=5_000)
    raw, adjusted = (np.array([getattr(pair, name) for pair in found.pairs]) for name in ("p", "p_adjusted"))
    assert np.all(adjusted >= raw)
    assert np.all(adjusted <= np.minimum(raw * 15, 1) + 0.02)
    assert found == multiple.all_pairs(values, rng=generator(), flips=5_000)


def test_max_t_holds_its_family_error_under_no_difference():
    rng = generator(6)
    false = 0
    for _ in range(300):
        values = rng.binomial(3, rng.beta(1, 1, 25), (5, 25)) / 3
        false += min(pair.p_adjusted for pair in multiple.all_pairs(values, rng=rng, flips=399).pairs) <= 0.05
    assert 4 <= false <= 27


def test_identical_arms_stay_together_and_few_tasks_are_said_to_be_few():
    values = np.tile([0.1, 0.7, 0.4], (3, 1))
    found = multiple.all_pairs(values, rng=generator(), flips=99)
    assert {pair.p_adjusted for pair in found.pairs} == {1.0}
    assert found.groups == ((0, 1, 2),)
    assert found.ranks == ((1, 3),) * 3
    assert "no pair can be told apart" in found.note
    assert multiple.all_pairs(values[:1], rng=generator()).pairs is None


@given(st.integers(2, 6), st.data())
@settings(max_examples=60, deadline=None)
def test_groups_are_all_maximal_sets_without_a_pair_apart(arms, data):
    everything = [(i, j) for i in range(arms) for j in range(i + 1, arms)]
    apart = [pair for pair in everything if data.draw(st.booleans())]
    found = {frozenset(group) for group in multiple.not_apart(list(range(arms)), apart)}
    free = [
        frozenset(i for i in range(arms) if mask >> i & 1)
        for mask in range(1, 2**arms)
        if not any(mask >> i & 1 and mask >> j & 1 for i, j in apart)
    ]
    assert found == {group for group in free if not any(group < other for other in free)}


def test_tost_equals_statsmodels():
    values = generator(7).normal(0.01, 0.05, 25)
    found = equivalence.tost(values, 0.03)
    assert found.p == pytest.approx(DescrStatsW(values).ttost_mean(-0.03, 0.03)[0])
    low, high = DescrStatsW(values).tconfint_mean(alpha=0.10)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.shown == (low > -0.03 and high < 0.03)


def test_wide_margins_far_from_it_and_unknown_are_three_verdicts():
    values = generator(8).normal(0.2, 0.05, 20)
    assert equivalence.tost(values, 0.5).verdict == "equivalent"
    assert equivalence.tost(values, 0.05).verdict == "outside the margin"
    assert equivalence.tost(values, 0.2).verdict == "inconclusive"
    assert equivalence.non_inferior(values, 0.05).verdict == "not inferior"
    assert equivalence.non_inferior(-values, 0.05).verdict == "outside the margin"
    assert equivalence.non_inferior(-values, 0.05, higher_is_better=False).verdict == "not inferior"


def test_no_spread_is_not_equivalence():
    found = equivalence.tost([0.0] * 10, 0.02)
    assert (found.p, found.shown, found.verdict) == (None, None, None)
    assert "spread" in found.reason
    with pytest.raises(ValueError, match="declared"):
        equivalence.tost([0.0, 1.0], 0.0)


def test_tost_holds_its_size_on_the_edge_of_the_margin():
    rng = generator(9)
    shown = sum(bool(equivalence.tost(rng.normal(0.1, 0.15, 20), 0.1).shown) for _ in range(1000))
    assert 30 <= shown <= 72
