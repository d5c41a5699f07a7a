"""Simulated coverage and size of what compares arms, days and judges; the table is printed by `coverage`.

Effects that are known: true differences, day effects and judges' errors are drawn here, never estimated.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orchestrator.stats.corrected import prediction_powered, rogan_gladen
from orchestrator.stats.crossed import crossed
from orchestrator.stats.days import level_scores, two_way_clustered
from orchestrator.stats.drift import drift
from orchestrator.stats.equivalence import tost
from orchestrator.stats.judges import agreement
from orchestrator.stats.multiple import all_pairs
from orchestrator.stats.paired import paired_pass
from orchestrator.stats.resources import split_gain, trend
from orchestrator.stats.sequential import betting

Floats = np.ndarray
Once = Callable[[np.random.Generator], bool]
COVERS, SIZE, AT_MOST = (0.93, 0.97), (0.04, 0.06), (0.0, 0.06)


def share(once: Once, simulations: int, seed: int) -> float:
    """How often `once` is true over so many simulations."""
    rng = np.random.default_rng(seed)
    return sum(once(rng) for _ in range(simulations)) / simulations


def paired_covers(rng: np.random.Generator) -> bool:
    """The interval of a paired difference of pass@1 over 40 clusters of 5 tasks, against a true gain of 0.05."""
    base = np.clip(np.repeat(rng.beta(1, 1, 40), 5), 0.1, 0.85)
    gain = np.repeat(rng.choice([0.0, 0.1], 40), 5)
    n = np.full(200, 4)
    found = paired_pass(
        n, rng.binomial(4, base), n, rng.binomial(4, base + gain), rng=rng, cluster=np.arange(200) // 5, flips=1
    ).difference
    return bool(found.low <= 0.05 <= found.high)


def fixed_tasks_covers(rng: np.random.Generator) -> bool:
    """The interval of a paired difference for these exact tasks: the rates stay from one simulation to the next."""
    rates, n = np.linspace(0.05, 0.95, 60), np.full(60, 5)
    c = rng.binomial(5, rates, (2, 60))
    found = paired_pass(n, c[0], n, c[1], rng=rng, flips=1).exact_tasks
    return bool(found.low <= 0 <= found.high)


def day_grid(
    rng: np.random.Generator, tasks: int, days: int, day_sd: float, both_sd: float = 0.1
) -> tuple[Floats, Floats, Floats]:
    """n, sums and sums of squares of three repeats per cell, of mean 0."""
    noise = rng.normal(0, 0.4, (tasks, days, 3))
    task = rng.normal(0, 0.3, (tasks, 1))
    day = rng.normal(0, day_sd, days)
    y = noise + (task + day + rng.normal(0, both_sd, (tasks, days)))[:, :, None]
    return np.full((tasks, days), 3), y.sum(axis=2), (y**2).sum(axis=2)


def crossed_misses(days: int, day_sd: float) -> Once:
    """Whether the interval of the mean over tasks and days misses 0."""

    def once(rng: np.random.Generator) -> bool:
        found = crossed(*day_grid(rng, 28, days, day_sd)).mean
        return not found.low <= 0 <= found.high

    return once


def day_claimed(rng: np.random.Generator) -> bool:
    """A day effect claimed over 5 days that are alike."""
    return bool(crossed(*day_grid(rng, 20, 5, 0.0)).p <= 0.05)


def two_way_covers(rng: np.random.Generator) -> bool:
    """The two-way clustered interval over 50 tasks on 20 days, of passes with task and day effects."""
    task, day = rng.normal(0, 0.12, (50, 1)), rng.normal(0, 0.06, 20)
    n = np.full((50, 20), 2)
    found = two_way_clustered(n, rng.binomial(2, np.clip(0.5 + task + day, 0, 1))).interval
    return bool(found.low <= 0.5 <= found.high)


def day_effect_covers(rng: np.random.Generator) -> bool:
    """The task-adjusted effect of one of 4 days that are alike, a tenth of the cells missing."""
    rates = np.repeat(rng.beta(1, 1, (40, 1)), 4, axis=1)
    n = np.where(rng.random((40, 4)) < 0.1, 0, 3)
    found = level_scores(n, rng.binomial(n, rates)).effects[0]
    return bool(found.low <= 0 <= found.high)


def drift_alarms(rng: np.random.Generator) -> bool:
    """Any alarm in 10 waves of an unchanged agent, without a horizon."""
    rates = rng.beta(2, 1, 50)
    base, *later = rng.binomial(5, rates, (11, 50)) / 5
    return drift(base, later).first_alarm is not None


def betting_errs(rng: np.random.Generator) -> bool:
    """The anytime-valid sequence leaves a true difference of 0 at any of 100 looks."""
    rates = rng.beta(1, 1, 100)
    found = betting((rng.binomial(3, rates) - rng.binomial(3, rates)) / 3, grid=100)
    return max(found.low) > 0 or min(found.high) < 0


def equivalence_claimed(rng: np.random.Generator) -> bool:
    """Equivalence shown where the true difference is the margin itself."""
    return bool(tost(rng.normal(0.05, 0.15, 60), 0.05).shown)


def pair_claimed(rng: np.random.Generator) -> bool:
    """Any pair of 5 equal arms told apart by max-T."""
    rates = rng.beta(1, 1, 40)
    values = rng.binomial(3, rates, (5, 40)) / 3
    return min(pair.p_adjusted for pair in all_pairs(values, rng=rng, flips=199).pairs) <= 0.05


def trend_claimed(rng: np.random.Generator) -> bool:
    """A trend over 4 settings that change nothing."""
    rates = rng.beta(1, 1, 60)
    n = np.full((4, 60), 10)
    return bool(trend(n, rng.binomial(10, rates, (4, 60)), rng=rng, flips=199).test.p <= 0.05)


def split_covers(rng: np.random.Generator) -> bool:
    """The part of a gain owed to fewer resource failures: 0.25 fewer failures at 0.6 solved given none."""
    n = np.full((2, 60), 10)
    failed = rng.binomial(10, np.array([[0.3], [0.05]]), (2, 60))
    passed = rng.binomial(10 - failed, 0.6)
    found = split_gain(n, passed, failed).fewer_failures
    return bool(found.low <= 0.25 * 0.6 <= found.high)


def kappa_covers(rng: np.random.Generator) -> bool:
    """Kappa of a judge who errs on 1 trial in 6, by task, at even prevalence: 2/3."""
    error, solved = rng.beta(0.5, 2.5, (100, 1)), rng.beta(1, 1, (100, 1))
    truth = rng.random((100, 4)) < solved
    judge = truth ^ (rng.random((100, 4)) < error)
    found = agreement(judge.ravel(), truth.ravel(), np.repeat(np.arange(100), 4)).kappa
    return bool(found.low <= 2 / 3 <= found.high)


def rogan_gladen_covers(rng: np.random.Generator) -> bool:
    """A true rate of 0.7 behind a judge of sensitivity 0.9 and specificity 0.8."""
    judged = (int(rng.binomial(300, 0.7 * 0.9 + 0.3 * 0.2)), 300)
    found = rogan_gladen(judged, (int(rng.binomial(100, 0.9)), 100), (int(rng.binomial(100, 0.8)), 100))
    return bool(found.low <= 0.7 <= found.high)


def prediction_powered_covers(rng: np.random.Generator) -> bool:
    """A true rate of 2/3 from 360 judged trials of 60 tasks, a quarter of them labelled."""
    task = np.repeat(np.arange(60), 6)
    truth = (rng.random(360) < rng.beta(2, 1, 60)[task]).astype(float)
    judge = np.where(rng.random(360) < 0.1, 1.0, truth)
    labelled = rng.permutation(360) < 90
    found = prediction_powered(judge[~labelled], task[~labelled], judge[labelled], truth[labelled], task[labelled])
    return bool(found.interval.low <= 2 / 3 <= found.interval.high)


@dataclass(frozen=True, slots=True)
class Study:
    """One line of the table: what is measured, where, how many simulations, and where the share should lie."""

    what: str
    setting: str
    simulations: int
    expected: tuple[float, float]
    once: Once


STUDIES = (
    Study("paired difference, CR2 and t", "200 tasks in 40 clusters x 4", 4000, COVERS, paired_covers),
    Study("paired difference, these exact tasks", "60 tasks x 5", 4000, COVERS, fixed_tasks_covers),
    Study("crossed mean misses the truth", "28 tasks x 3 days", 4000, SIZE, crossed_misses(3, 0.1)),
    Study("crossed mean misses the truth", "28 tasks x 5 days", 4000, SIZE, crossed_misses(5, 0.1)),
    Study("crossed mean misses, days alike", "28 tasks x 3 days", 4000, AT_MOST, crossed_misses(3, 0.0)),
    Study("day effect claimed, true null", "20 tasks x 5 days", 4000, SIZE, day_claimed),
    Study("two-way clustered (CGM)", "50 tasks x 20 days", 4000, COVERS, two_way_covers),
    Study("task-adjusted day effect", "40 tasks x 4 days, 10% missing", 4000, COVERS, day_effect_covers),
    Study("any false alarm of drift in 10 waves", "50 tasks x 5", 2000, AT_MOST, drift_alarms),
    Study("betting sequence ever errs", "100 tasks x 3", 1000, AT_MOST, betting_errs),
    Study("TOST on the edge of the margin", "60 tasks", 8000, SIZE, equivalence_claimed),
    Study("any of 10 pairs claimed, max-T", "5 arms x 40 tasks x 3", 2000, AT_MOST, pair_claimed),
    Study("trend claimed, true null", "4 settings x 60 tasks x 10", 4000, SIZE, trend_claimed),
    Study("gain from fewer failures", "2 settings x 60 tasks x 10", 4000, COVERS, split_covers),
    Study("kappa, clustered", "100 tasks x 4", 4000, COVERS, kappa_covers),
    Study("Rogan-Gladen", "300 judged, 200 labelled", 4000, COVERS, rogan_gladen_covers),
    Study("prediction-powered mean", "60 tasks x 6, 90 labelled", 4000, COVERS, prediction_powered_covers),
)
