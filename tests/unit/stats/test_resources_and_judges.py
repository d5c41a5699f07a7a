"""Resource settings, the cost-accuracy frontier and judges: by hand, by identities, and under simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle
from statsmodels.stats.inter_rater import cohens_kappa

from orchestrator.stats import frontier, judges, noise, resources
from orchestrator.stats.corrected import prediction_powered, rogan_gladen
from orchestrator.stats.judge_arms import equal_treatment, gap_seen


def generator(seed=0):
    return np.random.default_rng(seed)


def grids(seed, settings_=3, tasks=12, n=10):
    rng = generator(seed)
    failed = rng.binomial(n, np.linspace(0.2, 0.02, settings_)[:, None], (settings_, tasks))
    return np.full((settings_, tasks), n), rng.binomial(n - failed, 0.6), failed


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_split_adds_up_to_the_gain(seed):
    found = resources.split_gain(*grids(seed))
    assert found.fewer_failures.value + found.more_solved.value == pytest.approx(found.gain.value)


def test_the_split_names_the_right_cause():
    n, c, f = np.full((2, 20), 10), np.full((2, 20), 6), np.zeros((2, 20), dtype=int)
    c[0] -= np.arange(20) % 3
    solved = resources.split_gain(n, c, f)
    assert solved.fewer_failures.value == pytest.approx(0)
    f[0], c[0], c[1] = 5, 3, 6
    failures = resources.split_gain(n, c, f)
    assert (failures.fewer_failures.value, failures.more_solved.value) == pytest.approx((0.3, 0.0))
    f[0], c[0] = 10, 0
    assert resources.split_gain(n, c, f).more_solved.value is None
    with pytest.raises(ValueError, match="both pass and fail"):
        resources.split_gain(n, n, n)


def jackknife(estimate, units):
    left = np.array([estimate(np.delete(np.arange(units), unit)) for unit in range(units)])
    return ((units - 1) / units * ((left - left.mean()) ** 2).sum()) ** 0.5


def test_the_split_errors_are_those_of_the_jackknife():
    n, c, f = grids(15, tasks=200)
    found = resources.split_gain(n, c, f)
    for name in ("fewer_failures", "more_solved"):
        error = jackknife(lambda k, m=name: getattr(resources.split_gain(n[:, k], c[:, k], f[:, k]), m).value, 200)
        assert getattr(found, name).se == pytest.approx(error, rel=0.005)


def test_the_split_intervals_cover():
    rng, held, runs = generator(2), np.zeros(2), 300
    for _ in range(runs):
        p = rng.uniform(0.2, 0.9, 40)
        f = rng.binomial(10, np.array([[0.15], [0.03]]), (2, 40))
        c = rng.binomial(10 - f, np.stack([p, p + 0.05]))
        found = resources.split_gain(np.full((2, 40), 10), c, f)
        truth = (0.12 * (0.55 + 0.6) / 2, 0.05 * (0.85 + 0.97) / 2)
        held += [i.low <= t <= i.high for i, t in zip((found.fewer_failures, found.more_solved), truth, strict=True)]
    assert np.all((held / runs > 0.91) & (held / runs < 0.985))


def test_contrasts_skip_the_baseline_and_hold_the_family():
    n, c, _ = grids(3, settings_=4)
    found = resources.contrasts(n, c, 3, rng=generator())
    assert [contrast.setting for contrast in found] == [0, 1, 2]
    assert all(contrast.p_adjusted >= contrast.paired.test.p for contrast in found)
    assert found[0].paired.difference.value == pytest.approx((c[0] - c[3]).mean() / 10)


def test_trend_is_the_mean_slope_and_ignores_task_level():
    n = np.full((4, 9), 10)
    c = generator(4).integers(0, 11, (4, 9))
    dose = [1.0, 2.0, 4.0, 5.0]
    slopes = [oracle.linregress(dose, column / 10).slope for column in c.T]
    found = resources.trend(n, c, rng=generator(), dose=dose)
    assert found.slope.value == pytest.approx(np.mean(slopes))
    with pytest.raises(ValueError, match="increasing"):
        resources.trend(n, c, rng=generator(), dose=[1, 1, 2, 3])


def test_trend_holds_its_size():
    rng, hits = generator(5), 0
    for _ in range(300):
        c = rng.binomial(3, rng.beta(1, 1, 15), (4, 15))
        hits += resources.trend(np.full((4, 15), 3), c, rng=rng).test.p <= 0.05
    assert 4 <= hits <= 27


def test_bands_tasks_and_rates_of_settings():
    n, c = np.full((2, 10), 10), np.tile(np.arange(10), (2, 1))
    c[1, :2] += 1
    assert resources.neutral_band(n, c, 0.1).verdict == "equivalent"
    assert resources.neutral_band(n, c, 0.01).verdict == "inconclusive"
    assert resources.changing_tasks(n, c) == ()
    c[1, 0] = 10
    changed = resources.changing_tasks(n, c)
    assert [(task.task, task.change) for task in changed] == [(0, 1.0)]
    rate = resources.setting_rates(n, np.zeros((2, 10)))[0]
    assert (rate.value, rate.low) == (0.0, 0.0)
    assert rate.high > 0
    with pytest.raises(ValueError, match="one shape"):
        resources.setting_rates([1, 2], [0, 1])


def test_the_noise_floor_and_gaps_below_it():
    floors = noise.noise_floor([100, 50, 0], [1, 0, 0])
    truth = oracle.binomtest(1, 100).proportion_ci(method="exact")
    assert (floors[0].low, floors[0].high) == pytest.approx((truth.low, truth.high))
    assert floors[2].value is None
    assert noise.below_noise_floor(-0.02, *floors[:2]).below
    assert noise.below_noise_floor(0.2, *floors[:2]).below is False
    assert noise.below_noise_floor(0.2, *floors).reason


def test_the_frontier_of_estimates_is_found_by_definition():
    rng = generator(6)
    accuracy, cost = rng.uniform(size=(7, 15)), rng.uniform(1, 2, (7, 15))
    found = frontier.frontier(accuracy, cost, rng=generator(), replicates=200)
    a, c = accuracy.mean(axis=1), cost.mean(axis=1)
    expected = [i for i in range(7) if not any(a[j] >= a[i] and c[j] <= c[i] for j in range(7) if j != i)]
    assert sorted(found.order) == expected
    assert [found.arms[i].cost for i in found.order] == sorted(found.arms[i].cost for i in found.order)
    assert found == frontier.frontier(accuracy, cost, rng=generator(), replicates=200)


def test_a_close_race_is_open_and_twins_do_not_dominate_each_other():
    rng = generator(7)
    accuracy = 0.5 + rng.normal(0, 0.1, (2, 40))
    cost = np.tile([[1.0], [1.1]], (1, 40))
    accuracy[1] += accuracy[0].mean() - accuracy[1].mean() + 1e-4
    found = frontier.frontier(accuracy, cost, rng=generator())
    assert [arm.place for arm in found.arms] == ["on", "open"]
    assert 0.2 < found.arms[1].share < 0.8
    twins = frontier.frontier(np.stack([accuracy[0]] * 2), np.ones((2, 40)), rng=generator())
    assert [arm.place for arm in twins.arms] == ["on", "on"]
    assert twins.arms[0].rival is None


def test_the_frontier_needs_two_tasks_and_whole_grids():
    assert frontier.frontier([[0.5]], [[1.0]], rng=generator()).reason
    with pytest.raises(ValueError, match="below 0"):
        frontier.frontier([[0.5, 0.5]], [[-1.0, 1.0]], rng=generator())


@given(st.lists(st.integers(1, 30), min_size=4, max_size=4))
@settings(max_examples=40, deadline=None)
def test_kappa_equals_statsmodels(counts):
    table = np.array(counts).reshape(2, 2)
    truth, judge = np.repeat([0, 0, 1, 1], counts), np.repeat([0, 1, 0, 1], counts)
    found, expected = judges.agreement(judge, truth, np.arange(truth.size)), cohens_kappa(table)
    assert found.kappa.value == pytest.approx(expected.kappa)
    size = truth.size
    assert found.kappa.se**2 * (size - 1) / size == pytest.approx(expected.var_kappa, abs=1e-12)
    assert found.table == ((counts[0], counts[1]), (counts[2], counts[3]))


def test_repeating_each_trial_in_its_task_adds_no_certainty():
    rng = generator(8)
    truth = rng.integers(0, 2, 60)
    judge = np.where(rng.random(60) < 0.2, 1 - truth, truth)
    once = judges.agreement(judge, truth, np.arange(60))
    thrice = judges.agreement(np.repeat(judge, 3), np.repeat(truth, 3), np.repeat(np.arange(60), 3))
    for name in ("kappa", "pabak", "ac1"):
        assert getattr(thrice, name).se == pytest.approx(getattr(once, name).se)
    assert thrice.agreement.se == pytest.approx(once.agreement.se)


def test_robust_coefficients_by_their_definitions():
    found = judges.agreement([1] * 118 + [0] * 5 + [1] * 2, [1] * 123 + [0] * 2, np.arange(125))
    pi = (120 / 125 + 123 / 125) / 2
    chance = 2 * pi * (1 - pi)
    assert found.kappa.value < 0
    assert found.pabak.value == pytest.approx(2 * 0.944 - 1)
    assert found.ac1.value == pytest.approx((0.944 - chance) / (1 - chance))
    assert (found.sensitivity.value, found.specificity.value) == pytest.approx((118 / 123, 0.0))


def test_the_error_of_ac1_is_that_of_the_jackknife():
    rng = generator(16)
    truth = (rng.random(300) < 0.8).astype(int)
    judge = np.where(rng.random(300) < 0.15, 1 - truth, truth)
    error = jackknife(lambda k: judges.agreement(judge[k], truth[k], k).ac1.value, 300)
    assert judges.agreement(judge, truth, np.arange(300)).ac1.se == pytest.approx(error, rel=0.01)


def test_a_constant_rater_has_no_kappa():
    found = judges.agreement([1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 2, 3])
    assert found.kappa.value is None
    assert "judge gave one verdict" in found.kappa.reason
    assert judges.cohen_kappa([[3, 2], [0, 0]]) is None
    assert judges.cohen_kappa(np.zeros((2, 2))) is None
    assert judges.agreement([1, 1], [1, 1], [0, 1]).specificity.value is None
    assert judges.agreement([], [], []).reason
    with pytest.raises(ValueError, match="0 or 1"):
        judges.agreement([2], [1], [0])


def test_clustered_kappa_covers():
    rng, held, runs = generator(9), 0, 300
    for _ in range(runs):
        error, solved = rng.beta(0.5, 2.5, (40, 1)), rng.beta(1, 1, (40, 1))
        truth = rng.random((40, 5)) < solved
        judge = truth ^ (rng.random((40, 5)) < error)
        # Error 1/6 whatever the truth, at prevalence 1/2: kappa = 1 - 2/6.
        found = judges.agreement(judge.ravel(), truth.ravel(), np.repeat(np.arange(40), 5)).kappa
        held += found.low <= 2 / 3 <= found.high
    assert 0.91 <= held / runs <= 0.985


def trials(rng, error, tasks=30, repeats=4):
    task = np.tile(np.repeat(np.arange(tasks), repeats), 2)
    arm = np.repeat([0, 1], tasks * repeats)
    truth = (rng.random(task.size) < rng.beta(1, 1, tasks)[task]).astype(int)
    wrong = rng.random(task.size) < np.asarray(error)[arm]
    return np.where(wrong, 1 - truth, truth), truth, task, arm


def test_equal_treatment_holds_its_size_even_where_arms_differ_in_truth():
    rng, hits, told = generator(10), 0, 0
    for _ in range(200):
        for found in equal_treatment(*trials(rng, (0.2, 0.2)), rng=rng, shuffles=199):
            hits += found.p is not None and found.p <= 0.05
            told += found.p is not None
    assert told > 380
    assert 6 <= hits <= 36


def test_a_judge_that_favours_an_arm_is_found():
    judge, truth, task, arm = trials(generator(11), (0.05, 0.4))
    sensitivity, specificity = equal_treatment(judge, truth, task, arm, rng=generator())
    assert max(sensitivity.p, specificity.p) < 0.01
    assert sensitivity.rates[0] > sensitivity.rates[1]
    found = gap_seen(judge, truth, task, arm, rng=generator())
    moved = found.by_judge.difference.value - found.by_truth.difference.value
    assert found.moved.difference.value == pytest.approx(moved)
    with pytest.raises(ValueError, match="match the tasks"):
        gap_seen(judge, truth, task + 1000 * arm, arm, rng=generator())


def test_rogan_gladen_undoes_the_judge():
    rng, held, estimates = generator(12), 0, []
    for _ in range(400):
        judged = (int(rng.binomial(300, 0.7 * 0.9 + 0.3 * 0.2)), 300)
        found = rogan_gladen(judged, (int(rng.binomial(100, 0.9)), 100), (int(rng.binomial(100, 0.8)), 100))
        estimates.append(found.value)
        held += found.low <= 0.7 <= found.high
    assert np.mean(estimates) == pytest.approx(0.7, abs=0.01)
    assert 0.92 <= held / 400 <= 0.98


def test_rogan_gladen_is_undefined_for_a_useless_judge_and_cut_at_the_edge():
    assert rogan_gladen((5, 10), (5, 10), (5, 10)).value is None
    assert "no true fail" in rogan_gladen((5, 10), (5, 10), (0, 0)).reason
    edge = rogan_gladen((1, 100), (95, 100), (90, 100))
    assert edge.value == 0.0
    assert "outside 0..1" in edge.note


def test_prediction_powered_covers_and_is_narrower_than_labels_alone():
    rng, held, narrower, runs = generator(13), 0, 0, 300
    for _ in range(runs):
        solved = rng.beta(2, 1, 60)
        task = np.repeat(np.arange(60), 6)
        truth = (rng.random(360) < solved[task]).astype(float)
        judge = np.where(rng.random(360) < 0.1, 1.0, truth)
        chosen = rng.permutation(360) < 90
        found = prediction_powered(judge[~chosen], task[~chosen], judge[chosen], truth[chosen], task[chosen])
        held += found.interval.low <= 2 / 3 <= found.interval.high
        narrower += found.interval.se < found.labels_alone.se
    assert 0.91 <= held / runs <= 0.98
    assert narrower / runs > 0.9


def test_prediction_powered_without_trust_is_the_labels_alone():
    rng = generator(14)
    judge, truth = rng.integers(0, 2, 40), rng.integers(0, 2, 20)
    found = prediction_powered(judge, np.arange(40), judge[:20], truth, np.arange(20), weight=0.0)
    assert found.interval.value == pytest.approx(found.labels_alone.value)
    assert found.interval.se == pytest.approx(found.labels_alone.se)
    alone = prediction_powered([], [], judge[:20], truth, np.arange(20))
    assert alone.interval.value is None
    assert alone.labels_alone.value == pytest.approx(truth.mean())
