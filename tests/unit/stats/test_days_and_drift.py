"""Days, drift and looks at a running sweep: against statsmodels, by hand, and for their size under simulation."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.stats.crossed import crossed
from orchestrator.stats.days import level_scores, two_way_clustered
from orchestrator.stats.drift import drift, judge_noise, lanes_apart, spending, two_se_alarm, two_se_false_alarms
from orchestrator.stats.sequential import betting, mixture_e_value, rate_sequence


def generator(seed=0):
    return np.random.default_rng(seed)


def cells(rng, shape, sd_task=0.3, sd_day=0.1, sd_both=0.1, sd=0.4, repeats=3):
    tasks, days = shape
    y = rng.normal(0, sd_task, (tasks, 1, 1)) + rng.normal(0, sd_day, (1, days, 1))
    y = y + rng.normal(0, sd_both, (tasks, days, 1)) + rng.normal(0, sd, (tasks, days, repeats))
    return np.full(shape, repeats), y.sum(axis=2), (y**2).sum(axis=2), y


def test_same_tasks_every_day_give_plain_means():
    n = np.full((5, 3), 4)
    c = generator(1).integers(0, 5, (5, 3))
    found = level_scores(n, c)
    assert not found.adjusted
    assert [score.value for score in found.scores] == pytest.approx((c / 4).mean(axis=0))
    assert sum(effect.value for effect in found.effects) == pytest.approx(0)


def test_missing_cells_are_adjusted_as_task_dummies_do():
    rng = generator(2)
    n, c = np.full((8, 4), 5), rng.integers(0, 6, (8, 4))
    gone = rng.random((8, 4)) < 0.25
    n, c = np.where(gone, 0, n), np.where(gone, 0, c)
    found = level_scores(n, c)
    task, day = np.nonzero((n > 0) & ((n > 0).sum(axis=1) > 1)[:, None])
    design = np.concatenate([np.eye(8)[task], np.eye(4)[day][:, 1:]], axis=1)
    design = design[:, design.any(axis=0)]
    fit = sm.OLS(c[task, day] / 5, design).fit(cov_type="cluster", cov_kwds={"groups": task, "use_correction": False})
    centred = np.eye(4)[:, 1:] - 1 / 4
    units = np.unique(task).size
    errors = np.sqrt(np.diag(centred @ fit.cov_params()[-3:, -3:] @ centred.T) * units / (units - 1))
    assert found.adjusted
    assert [effect.value for effect in found.effects] == pytest.approx(centred @ fit.params[-3:])
    assert [effect.se for effect in found.effects] == pytest.approx(errors)


def test_a_hard_task_on_one_day_is_not_a_bad_day():
    n, c = np.array([[4, 4], [4, 4], [0, 4]]), np.array([[4, 4], [2, 2], [0, 0]])
    found = level_scores(n, c)
    assert found.effects[1].value == pytest.approx(0)
    assert "left out" in found.note


def test_days_that_share_no_tasks_are_not_compared():
    found = level_scores([[4, 4, 0, 0], [0, 0, 4, 4]], [[1, 2, 0, 0], [0, 0, 3, 4]])
    assert found.scores == ()
    assert "share too few tasks" in found.reason


def test_day_effect_intervals_cover():
    rng, held = generator(3), 0
    for _ in range(300):
        n, total = cells(rng, (25, 4), sd_day=0.0)[:2]
        found = level_scores(n, np.clip(np.round(total + 1.5), 0, 3)).effects[0]
        held += found.low <= 0 <= found.high
    assert 0.91 <= held / 300 <= 0.98


def test_variance_parts_are_the_anova_table():
    n, total, squares, y = cells(generator(4), (6, 5))
    found = crossed(n, total, squares)
    tasks, days, repeats = y.shape
    task = np.repeat(np.arange(tasks), days * repeats).astype(str)
    day = np.tile(np.repeat(np.arange(days), repeats), tasks).astype(str)
    data = pd.DataFrame({"y": y.ravel(), "task": task, "day": day})
    model = sm.OLS.from_formula("y ~ C(task) * C(day)", data).fit()
    table = sm.stats.anova_lm(model)
    squared = table["sum_sq"] / table["df"]
    ms_task, ms_day, ms_both, ms_repeat = squared
    raw = [
        (ms_task - ms_both) / (days * repeats),
        (ms_day - ms_both) / (tasks * repeats),
        (ms_both - ms_repeat) / repeats,
        ms_repeat,
    ]
    assert [part.raw for part in found.parts] == pytest.approx(raw)
    assert all(part.low <= part.value <= part.high for part in found.parts)
    assert found.p is not None


def test_the_mean_holds_its_size_with_three_days_and_parts_cover():
    rng, missed, held, runs = generator(5), 0, np.zeros(4), 800
    truth = [0.09, 0.01, 0.01, 0.16]
    for _ in range(runs):
        n, total, squares, _ = cells(rng, (28, 3))
        found = crossed(n, total, squares)
        missed += not found.mean.low <= 0 <= found.mean.high
        held += [part.low <= t <= part.high for part, t in zip(found.parts, truth, strict=True)]
    assert 0.03 <= missed / runs <= 0.07
    assert np.all((held / runs > 0.92) & (held / runs < 0.985))


def test_no_claim_below_five_days_and_a_true_size_from_five_on():
    n, total, squares, _ = cells(generator(6), (10, 4), sd_day=2.0)
    assert crossed(n, total, squares).p is None
    assert "Below 5 nodes" in crossed(n, total, squares, factor="node").p_reason
    rng = generator(7)
    small = sum(crossed(*cells(rng, (12, 5), sd_day=0.0)[:3]).p <= 0.05 for _ in range(600))
    assert 15 <= small <= 48


def test_one_trial_per_cell_and_missing_cells_are_said():
    n, total, squares, _ = cells(generator(8), (6, 3), repeats=1)
    found = crossed(n, total, squares)
    assert [part.name for part in found.parts][2:] == ["task x day and repeat", "repeat"]
    assert found.parts[3].value is None
    n[0, 0], total[0, 0], squares[0, 0] = 0, 0.0, 0.0
    found = crossed(n, total, squares)
    assert (found.dropped, found.estimand.tasks) == (1, 5)
    assert crossed(n[:2], total[:2], squares[:2]).mean is None


def test_negative_parts_are_shown_and_clipped():
    n, c = np.full((2, 2), 2), np.array([[2, 0], [0, 2]])
    day = crossed(n, c).parts[1]
    assert day.raw < 0
    assert (day.value, day.low) == (0.0, 0.0)
    assert "negative" in day.reason


def test_a_day_part_leaves_zero_exactly_where_the_f_test_says_so():
    rng, agreed = generator(20), []
    for _ in range(400):
        found = crossed(*cells(rng, (3, 5), sd_day=0.3)[:3])
        agreed.append(found.p < 0.025)
        assert (found.parts[1].low > 0) == agreed[-1]
    assert 50 < sum(agreed) < 350


def test_days_without_spread_leave_the_error_between_tasks():
    n, c = np.full((5, 3), 4), np.array([[4, 3, 2], [1, 2, 3], [2, 2, 2], [0, 1, 2], [4, 4, 3]])
    found = crossed(n, c)
    rows = (c / 4).mean(axis=1)
    assert found.parts[1].raw < 0
    assert (found.mean.se, found.mean.df) == pytest.approx((rows.std(ddof=1) / 5**0.5, 4))
    assert "no spread of its own" in found.mean.note


def test_no_spread_at_all_gives_no_interval():
    found = crossed(np.full((4, 3), 2), np.full((4, 3), 2))
    assert (found.mean.value, found.mean.low) == (1.0, None)
    assert found.mean.reason


def test_two_way_clustering_refuses_one_day_and_takes_missing_cells():
    found = two_way_clustered([[2], [2]], [[1], [2]])
    assert found.interval.low is None
    n, c = np.array([[2, 0, 2], [2, 2, 0], [0, 2, 2]]), np.array([[1, 0, 2], [0, 1, 0], [0, 2, 2]])
    task, day = np.nonzero(n)
    y = np.concatenate([np.r_[np.ones(c[t, d]), np.zeros(n[t, d] - c[t, d])] for t, d in zip(task, day, strict=True)])
    g = np.stack([np.repeat(task, 2), np.repeat(day, 2)], axis=1)
    fit = sm.OLS(y, np.ones_like(y)).fit(cov_type="cluster", cov_kwds={"groups": g})
    assert two_way_clustered(n, c).raw == pytest.approx(fit.cov_params()[0, 0])


@pytest.mark.parametrize(
    ("n", "total", "message"),
    [
        ([1, 2], [1, 2], "one shape"),
        ([[1]], [[2]], "passes"),
        ([[0]], [[0]], "no trial"),
        ([[1]], [[np.nan]], "finite"),
    ],
)
def test_grids_are_checked(n, total, message):
    with pytest.raises(ValueError, match=message):
        crossed(n, total)


def test_spending_never_exceeds_alpha():
    assert spending(100_000).sum() < 0.05
    assert spending(12, horizon=12).sum() == pytest.approx(0.05)
    with pytest.raises(ValueError, match="horizon is 3"):
        spending(4, horizon=3)


@pytest.mark.parametrize("horizon", [None, 10])
def test_an_unchanged_agent_seldom_raises_an_alarm_and_a_changed_one_does(horizon):
    rng, false, hits = generator(9), 0, 0
    for _ in range(300):
        p = rng.beta(2, 1, 30)
        base, *same = rng.binomial(5, p, (11, 30)) / 5
        worse = rng.binomial(5, np.clip(p - 0.25, 0, 1), (10, 30)) / 5
        false += drift(base, same, horizon=horizon).first_alarm is not None
        hits += drift(base, worse, horizon=horizon, direction="down").first_alarm == 0
    assert false / 300 <= 0.08
    assert hits / 300 >= 0.75


def test_later_waves_do_not_change_earlier_verdicts():
    base, *waves = generator(10).uniform(size=(6, 20))
    assert drift(base, waves[:3]).waves == drift(base, waves).waves[:3]


def test_a_judge_that_changed_is_not_an_agent_that_drifted():
    rng = generator(11)
    base = rng.uniform(0.3, 0.7, 30)
    harsher = base - 0.2 + rng.normal(0, 0.02, 30)
    wave = harsher + rng.normal(0, 0.02, 30)
    assert drift(base, [wave]).waves[0].alarm
    found = drift(base, [wave], regraded=[harsher]).waves[0]
    assert found.alarm is False
    assert found.judge.value == pytest.approx(-0.2, abs=0.02)


def test_drift_without_spread_or_matching_tasks():
    found = drift([0.5] * 4, [[0.5] * 4]).waves[0]
    assert (found.p, found.alarm, found.difference.low) == (None, None, None)
    with pytest.raises(ValueError, match="baseline's tasks"):
        drift([0.5, 0.4], [[0.5]])
    assert drift([], [[]]).reason


def test_lanes_that_stay_together_need_no_refresh():
    waves = generator(12).uniform(size=(4, 20))
    assert lanes_apart(waves, waves + generator(13).normal(0, 0.01, (4, 20))).advice is None


def test_judge_noise_recovers_its_variance():
    rng = generator(14)
    truth, task = rng.normal(0, 1, 4_000), np.arange(4_000) // 4
    noise = judge_noise(truth + rng.normal(0, 0.5, 4_000), truth + 0.1 + rng.normal(0, 0.5, 4_000), task)
    assert noise.variance == pytest.approx(0.25, rel=0.1)
    assert noise.share == pytest.approx(0.25 / 1.25, rel=0.1)
    assert noise.shift.low < 0.1 < noise.shift.high
    assert judge_noise([1.0], [1.0], [0]).variance is None


def test_the_two_se_alarm_cries_as_often_as_computed():
    z = generator(15).normal(size=(4_000, 53))
    alarmed = np.mean([any(two_se_alarm(row[0], row[1:], np.ones(52))) for row in z])
    assert alarmed == pytest.approx(two_se_false_alarms(52), abs=0.03)


@given(st.integers(1, 60), st.data())
@settings(max_examples=40, deadline=None)
def test_rate_sequence_is_where_the_e_value_stays_below_its_bound(n, data):
    s = data.draw(st.integers(0, n))
    low, high = rate_sequence(n, s)
    assert 0 <= low <= s / n <= high <= 1
    for p in np.linspace(0.01, 0.99, 23):
        assert (low <= p <= high) == (mixture_e_value(n, s, p) <= 20)


def test_betting_keeps_its_promise_at_every_moment():
    rng, wrong, rejected, runs = generator(16), 0, 0, 250
    for _ in range(runs):
        p = rng.beta(1, 1, 100)
        found = betting((rng.binomial(3, p) - rng.binomial(3, p)) / 3, grid=200)
        wrong += max(found.low) > 0 or min(found.high) < 0
        rejected += found.stopped is not None
    assert wrong / runs <= 0.05
    assert rejected / runs <= 0.05


def test_betting_finds_a_difference_and_its_ends_never_widen():
    rng = generator(17)
    found = betting(np.clip(rng.normal(0.3, 0.3, 200), -1, 1))
    assert found.stopped is not None
    assert found.low[found.stopped + 20] > 0
    assert np.all(np.diff(found.low) >= 0)
    assert np.all(np.diff(found.high) <= 0)
    assert found.low[-1] < 0.3 < found.high[-1]
    assert found.anytime_p == pytest.approx(1 / max(found.e_values))


def test_a_look_uses_only_what_was_seen():
    values = generator(18).uniform(-1, 1, 60)
    assert betting(values[:25]).low == betting(values).low[:25]
    assert betting(values[:25]).e_values == betting(values).e_values[:25]


def test_capital_is_fair_before_each_observation():
    seen = generator(21).uniform(-1, 1, 30)
    before = betting(seen).e_values[-1]
    up, middle, down = (betting([*seen, last]).e_values[-1] for last in (1.0, 0.0, -1.0))
    assert (up + down) / 2 == pytest.approx(middle)
    assert middle == pytest.approx(before)
    assert up != pytest.approx(down)


def test_mirrored_differences_mirror_the_sequence():
    values = generator(19).uniform(-0.2, 0.9, 50)
    found, mirrored = betting(values), betting(-values)
    assert mirrored.high == pytest.approx([-v for v in found.low])


def test_betting_refuses_what_breaks_its_bounds():
    with pytest.raises(ValueError, match="bounds"):
        betting([0.2, 1.3])
    assert betting([]).reason
    assert betting([]).mean is None
