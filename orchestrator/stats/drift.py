"""Has a frozen agent changed: later waves against a baseline wave on the same tasks, with the error held over time.

Knows nothing of why scores moved. With grades that a judge gives, hand over the baseline graded again at each wave,
and what is called drift is free of the judge's own change. The fixed "2 standard errors" alarm is offered, with the
rate at which it cries wolf. Sources: Foster and Stine 2008 (spending); Miller 2024 (pairing).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from orchestrator.stats.intervals import ClusterError, cluster_error, mean_interval, t_quantile
from orchestrator.stats.sample import (
    TASKS_LIKE_THESE,
    Estimand,
    Floats,
    Interval,
    checked_level,
    describe,
    groups,
    numbers,
)

Direction = Literal["both", "down"]


@dataclass(frozen=True, slots=True)
class Wave:
    """One later wave: difference = wave - baseline; its interval holds for all waves at once. judge: the shift of
    the judge on the baseline's transcripts, already taken out of `difference`, None without a second grading.

    spent: share of alpha used on this wave. p: two-sided (or downward) alone; alarm: p <= spent, None if undefined.
    """

    difference: Interval
    p: float | None
    spent: float
    alarm: bool | None
    judge: Interval | None


@dataclass(frozen=True, slots=True)
class Drift:
    """Waves in order, the first that alarmed (index into `waves`), and the error held over all of them."""

    waves: tuple[Wave, ...]
    first_alarm: int | None
    alpha: float
    method: str
    estimand: Estimand
    reason: str | None = None


def spending(waves: int, alpha: float = 0.05, horizon: int | None = None) -> Floats:
    """Alpha of each wave [W]: alpha/horizon when the horizon was recorded before, else alpha / (w (w+1)) forever.

    >>> spending(3, 0.06).round(3).tolist(), spending(2, 0.06, horizon=12).round(3).tolist()
    ([0.03, 0.01, 0.005], [0.005, 0.005])
    """
    checked_level(1 - alpha)
    if horizon is None:
        w = np.arange(1, waves + 1)
        return np.asarray(alpha / (w * (w + 1.0)), dtype=np.float64)
    if waves > horizon:
        raise ValueError(f"{waves} waves were run, and the recorded horizon is {horizon}: nothing is left to spend.")
    return np.full(waves, alpha / horizon)


def drift(
    baseline: ArrayLike,
    waves: Sequence[ArrayLike],
    *,
    regraded: Sequence[ArrayLike] | None = None,
    cluster: ArrayLike | None = None,
    n: ArrayLike | None = None,
    alpha: float = 0.05,
    horizon: int | None = None,
    direction: Direction = "both",
    statistic: str = "pass@1",
) -> Drift:
    """Compare each wave's task values [T] with the baseline's [T], the same tasks in the same order.

    Each wave has a paired t test (CR2) at its own share of alpha, so the chance of any false alarm, ever, stays
    below alpha, and no later wave changes an earlier verdict. regraded: per wave, the baseline's transcripts graded
    anew by that wave's judge [T]; the wave is then compared with those. direction "down" looks for losses only,
    and the intervals stay two-sided. Undefined below 2 tasks; equal differences on all tasks leave no spread and
    raise no alarm.

    >>> base = [0.2, 0.5, 0.9, 0.4, 0.7, 0.6]
    >>> found = drift(base, [[0.2, 0.6, 0.8, 0.4, 0.7, 0.6], [0.0, 0.2, 0.6, 0.2, 0.4, 0.3]])
    >>> [wave.alarm for wave in found.waves], found.first_alarm
    ([False, True], 1)
    """
    start = numbers(baseline, "baseline")
    later = [numbers(wave, "wave") for wave in waves]
    again = None if regraded is None else [numbers(values, "regraded") for values in regraded]
    if any(values.shape != start.shape for values in [*later, *(again or [])]):
        raise ValueError("Every wave and every second grading needs the baseline's tasks, in the same order.")
    if again is not None and len(again) != len(later):
        raise ValueError("Give one second grading of the baseline per wave.")
    if direction not in ("both", "down"):
        raise ValueError(f"The direction is 'both' or 'down', not {direction!r}.")
    method = "alpha / (w (w+1)), no horizon" if horizon is None else f"alpha / {horizon}, horizon recorded before"
    trials = np.ones(start.size, dtype=np.int64) if n is None else n
    unit = groups(cluster, start.size)[2]
    about = describe(statistic, trials, unit=unit, population=TASKS_LIKE_THESE, method=f"paired waves, {method}")
    if start.size == 0:
        return Drift((), None, alpha, method, about, "There is no task.")
    shares = spending(len(later), alpha, horizon).tolist()
    found = []
    for at, (values, share) in enumerate(zip(later, shares, strict=True)):
        base = start if again is None else again[at]
        judge = None if again is None else mean_interval(base - start, cluster=cluster, n=trials, statistic="judge")
        found.append(_wave(values - base, cluster, share, direction, about, judge))
    alarms = [at for at, wave in enumerate(found) if wave.alarm]
    return Drift(tuple(found), alarms[0] if alarms else None, alpha, method, about)


@dataclass(frozen=True, slots=True)
class LanesApart:
    """The frozen lane against the live lane; advice is "refresh the suite" from the wave where they part."""

    drift: Drift
    advice: str | None


def lanes_apart(
    frozen: Sequence[ArrayLike],
    live: Sequence[ArrayLike],
    *,
    cluster: ArrayLike | None = None,
    n: ArrayLike | None = None,
    alpha: float = 0.05,
    horizon: int | None = None,
    statistic: str = "pass@1",
) -> LanesApart:
    """Compare live [T] with frozen [T] task values wave by wave, with the error control of `drift`.

    >>> frozen, live = [[0.5, 0.6, 0.9, 0.8]] * 2, [[0.5, 0.7, 0.8, 0.8], [0.1, 0.1, 0.5, 0.3]]
    >>> lanes_apart(frozen, live).advice
    'The lanes part at wave 2: refresh the suite.'
    """
    if len(frozen) != len(live) or len(frozen) == 0:
        raise ValueError("Both lanes need the same waves, at least one.")
    gaps = [numbers(b, "live") - numbers(a, "frozen") for a, b in zip(frozen, live, strict=True)]
    found = drift(np.zeros_like(gaps[0]), gaps, cluster=cluster, n=n, alpha=alpha, horizon=horizon, statistic=statistic)
    at = found.first_alarm
    return LanesApart(found, None if at is None else f"The lanes part at wave {at + 1}: refresh the suite.")


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """Noise of a judge from grading the same transcripts twice: variance of one grade in squared score units,
    its share of the variance between trials of a task (None where that is 0), and the shift of the second grading."""

    variance: float | None
    share: float | None
    shift: Interval | None
    grades: int
    reason: str | None = None


def judge_noise(first: ArrayLike, second: ArrayLike, task: ArrayLike, *, level: float = 0.95) -> JudgeNoise:
    """Grades first [N] and second [N] of the same transcripts of tasks task [N]; half the variance of their gaps.

    A shift between gradings is no noise and is taken out first. Undefined below 2 transcripts.

    >>> noise = judge_noise([1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1])
    >>> round(noise.variance, 4), noise.shift.value
    (0.3333, 0.0)
    """
    a, b = numbers(first, "first"), numbers(second, "second")
    if a.shape != b.shape:
        raise ValueError("Both gradings need the same transcripts.")
    if a.size < 2:
        return JudgeNoise(None, None, None, a.size, "Below 2 transcripts graded twice there is no noise to measure.")
    index, tasks, unit = groups(task, a.size)
    gap = b - a
    size: Floats = np.bincount(index, minlength=tasks).astype(np.float64)
    error = cluster_error(np.bincount(index, weights=gap, minlength=tasks), size)
    about = describe("judge shift", size, unit=unit, population=TASKS_LIKE_THESE, method="CR2 and t")
    variance = float(gap.var(ddof=1)) / 2
    centred = a - (np.bincount(index, weights=a, minlength=tasks) / size)[index]
    spare = a.size - tasks
    within = float((centred**2).sum()) / spare if spare else 0.0
    share = min(1.0, variance / within) if within > 0 else None
    return JudgeNoise(variance, share, _interval(error, level, about), a.size)


def two_se_alarm(baseline: float, waves: ArrayLike, se: ArrayLike) -> tuple[bool, ...]:
    """The common rule: alarm where a wave's mean is more than 2 of its standard errors below the baseline's mean.

    Offered for comparison, not as a default: see `two_se_false_alarms`.

    >>> two_se_alarm(0.8, [0.79, 0.7], [0.03, 0.03])
    (False, True)
    """
    means, errors = numbers(waves, "waves"), numbers(se, "se")
    return tuple((means < baseline - 2 * errors).tolist())


def two_se_false_alarms(waves: int, *, known_baseline: bool = False) -> float:
    """Chance that the 2-standard-error rule alarms in `waves` independent waves of an unchanged agent.

    The rule forgets that the baseline has an error of its own, as large as a wave's; known_baseline: it has none.

    >>> round(two_se_false_alarms(52), 3), round(two_se_false_alarms(1, known_baseline=True), 4)
    (0.592, 0.0228)
    """
    if known_baseline:
        return float(1 - ndtr(2.0) ** waves)
    # Nothing else needs it, and it takes a third of a second to import.
    from scipy.integrate import quad

    quiet = quad(
        lambda z: float(np.exp(-z * z / 2) / (2 * np.pi) ** 0.5 * ndtr(2.0 - z) ** waves), -12, 12, epsabs=1e-13
    )[0]
    return 1.0 - float(quiet)


def _wave(
    gap: Floats,
    cluster: ArrayLike | None,
    share: float,
    direction: Direction,
    about: Estimand,
    judge: Interval | None,
) -> Wave:
    gap = np.where(np.abs(gap) < 1e-12, 0.0, gap)
    index, units, _ = groups(cluster, gap.size)
    error = cluster_error(np.bincount(index, weights=gap, minlength=units), np.bincount(index, minlength=units))
    interval = _interval(error, 1 - share, about)
    if error.se is None or error.df is None or interval.reason:
        return Wave(interval, None, share, None, judge)
    t = error.mean / error.se
    p = float(stdtr(error.df, t)) if direction == "down" else 2 * float(stdtr(error.df, -abs(t)))
    return Wave(interval, p, share, p <= share, judge)


def _interval(error: ClusterError, level: float, about: Estimand) -> Interval:
    if error.se is None or error.df is None:
        return Interval(error.mean, None, None, level, about, reason=error.reason)
    if error.se < 1e-12:
        why = "All tasks differ by the same amount: without spread there is no interval."
        return Interval(error.mean, None, None, level, about, reason=why)
    half = t_quantile(level, error.df) * error.se
    return Interval(error.mean, error.mean - half, error.mean + half, level, about, error.se, error.df)
