"""What resource settings do to scores: failure rates, contrasts with a baseline, trend, neutrality, what is gained.

Grids have one row per setting, in order from the least resources to the most, and one column per task: n [S, T]
trials, c [S, T] passes, f [S, T] infrastructure failures (out of memory, evicted, timed out by the machine), which
count as not passed. Sources: Anthropic 2026, *Quantifying infrastructure noise in agentic coding evals*; Kitagawa
1955 (the split); Armitage 1955 (trend).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.equivalence import Equivalence, tost
from orchestrator.stats.intervals import korn_graubard, mean_interval
from orchestrator.stats.multiple import benjamini_hochberg, holm
from orchestrator.stats.paired import Paired, paired_values
from orchestrator.stats.sample import Floats, Interval, Ints, whole
from orchestrator.stats.signflip import FLIPS, SignFlip, sign_flip


def setting_rates(
    n: ArrayLike,
    events: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    statistic: str = "infrastructure failure rate",
) -> tuple[Interval, ...]:
    """Rate of events [S, T] in trials n [S, T] per setting, each task counting once, with Korn-Graubard's interval.

    >>> found = setting_rates([[10, 10, 10]] * 2, [[1, 0, 2], [0, 0, 0]])
    >>> [round(rate.value, 3) for rate in found], found[1].low
    ([0.1, 0.0], 0.0)
    """
    trials, counted = _settings(n, events)
    return tuple(
        korn_graubard(row / size, n=size, cluster=cluster, level=level, statistic=statistic)
        for size, row in zip(trials, counted, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Contrast:
    """One setting against the baseline; p_adjusted by Holm over all settings compared."""

    setting: int
    paired: Paired
    p_adjusted: float


def contrasts(
    n: ArrayLike,
    c: ArrayLike,
    baseline: int = 0,
    *,
    rng: np.random.Generator,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    flips: int = FLIPS,
    statistic: str = "pass@1",
) -> tuple[Contrast, ...]:
    """Each setting's rate minus the baseline's, paired by task.

    >>> found = contrasts([[4] * 6] * 2, [[1, 1, 2, 2, 3, 0], [2, 3, 3, 4, 4, 2]], rng=np.random.default_rng(0))
    >>> round(found[0].paired.difference.value, 3), found[0].p_adjusted
    (0.375, 0.03125)
    """
    trials, passes = _settings(n, c)
    rates = passes / trials
    others = [s for s in range(len(rates)) if s != range(len(rates))[baseline]]
    found = [
        paired_values(
            rates[baseline],
            rates[s],
            rng=rng,
            n=np.minimum(trials[baseline], trials[s]),
            cluster=cluster,
            level=level,
            flips=flips,
            statistic=statistic,
        )
        for s in others
    ]
    adjusted = holm([pair.test.p for pair in found if pair.test is not None and pair.test.p is not None])
    return tuple(Contrast(s, pair, float(p)) for s, pair, p in zip(others, found, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class Trend:
    """Change of the rate per step of the dose, averaged over tasks, with its interval and sign-flip test."""

    slope: Interval
    test: SignFlip
    dose: tuple[float, ...]


def trend(
    n: ArrayLike,
    c: ArrayLike,
    *,
    rng: np.random.Generator,
    dose: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    flips: int = FLIPS,
) -> Trend:
    """Monotone trend over ordered settings: the least-squares slope of each task's rate on the dose, tested over tasks.

    dose [S] defaults to 0, 1, 2, ...: the order alone, which is right for "uncapped" at the end. It must increase.

    >>> found = trend([[4] * 6] * 3, [[1] * 6, [2] * 6, [3, 3, 3, 3, 4, 2]], rng=np.random.default_rng(0))
    >>> found.slope.value, found.test.p
    (0.25, 0.03125)
    """
    trials, passes = _settings(n, c)
    x = np.arange(len(trials), dtype=np.float64) if dose is None else np.asarray(dose, dtype=np.float64)
    if x.shape != (len(trials),) or x.size < 2 or not np.all(np.diff(x) > 0) or not np.all(np.isfinite(x)):
        raise ValueError("The dose must hold one increasing number per setting, of at least 2 settings.")
    centred = x - x.mean()
    slopes = (centred / (centred**2).sum()) @ (passes / trials)
    slopes = np.where(np.abs(slopes) < 1e-12, 0.0, slopes)
    size = trials.sum(axis=0)
    name = "slope of pass@1 per step"
    return Trend(
        mean_interval(slopes, cluster=cluster, level=level, n=size, statistic=name),
        sign_flip(slopes, rng=rng, cluster=cluster, n=size, flips=flips, statistic=name),
        tuple(x.tolist()),
    )


def neutral_band(
    n: ArrayLike,
    c: ArrayLike,
    margin: float,
    *,
    floor: int = 0,
    ceiling: int = -1,
    cluster: ArrayLike | None = None,
    alpha: float = 0.05,
) -> Equivalence:
    """Whether scores at the floor and at the ceiling of a band of settings are equivalent at the declared margin.

    >>> c = [[5, 3, 8, 9, 1, 4], [5, 4, 8, 9, 1, 3]]
    >>> neutral_band([[10] * 6] * 2, c, 0.1).verdict
    'equivalent'
    """
    trials, passes = _settings(n, c)
    gap = passes[ceiling] / trials[ceiling] - passes[floor] / trials[floor]
    size = np.minimum(trials[ceiling], trials[floor])
    return tost(gap, margin, cluster=cluster, n=size, alpha=alpha, statistic="pass@1, ceiling - floor")


@dataclass(frozen=True, slots=True)
class Split:
    """A gain in two parts that sum to it; fewer_failures and more_solved are None with reason in the intervals."""

    gain: Interval
    fewer_failures: Interval
    more_solved: Interval


def split_gain(
    n: ArrayLike,
    c: ArrayLike,
    f: ArrayLike,
    *,
    first: int = 0,
    second: int = -1,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> Split:
    """Gain from setting `first` to `second`: fewer resource failures, and more solved given none.

    score = r s, with r the share of trials without a failure and s = score / r, each a mean over tasks; the gain is
    (r2 - r1)(s1 + s2)/2 + (s2 - s1)(r1 + r2)/2 (Kitagawa). Intervals linearise both parts over tasks. Undefined
    where every trial of a setting failed.

    >>> found = split_gain([[10, 10]] * 2, [[4, 6], [6, 8]], [[4, 2], [1, 1]])
    >>> round(found.gain.value, 3), round(found.fewer_failures.value, 3), round(found.more_solved.value, 3)
    (0.2, 0.149, 0.051)
    """
    trials, passes = _settings(n, c)
    failed = _settings(n, f)[1]
    if np.any(passes + failed > trials):
        raise ValueError("A trial cannot both pass and fail on resources: count it as one of them.")
    (p1, r1), (p2, r2) = ((passes[s] / trials[s], 1 - failed[s] / trials[s]) for s in (first, second))
    size = np.minimum(trials[first], trials[second])

    def interval(name: str, values: Floats) -> Interval:
        return mean_interval(values, cluster=cluster, level=level, n=size, statistic=name)

    gain = interval("gain in pass@1", p2 - p1)
    up1, up2 = float(r1.mean()), float(r2.mean())
    if min(up1, up2) == 0:
        why = "Every trial of a setting failed on resources: nothing is known of solving given no failure."
        none = Interval(None, None, None, level, gain.estimand, reason=why)
        return Split(gain, none, none)
    s1, s2 = float(p1.mean()) / up1, float(p2.mean()) / up2
    # Influence of each task on s = p/r is (p_t - s r_t)/r; the part's own value is added back as its mean.
    d1, d2 = (p1 - s1 * r1) / up1, (p2 - s2 * r2) / up2
    fewer = (r2 - r1) * (s1 + s2) / 2 + (up2 - up1) * (d1 + d2) / 2
    solved = (s2 - s1 + d2 - d1) * (up1 + up2) / 2 + (s2 - s1) * (r1 + r2 - up1 - up2) / 2
    return Split(gain, interval("gain from fewer failures", fewer), interval("gain from more solved", solved))


@dataclass(frozen=True, slots=True)
class Changing:
    """A task whose rate differs between two settings: Fisher's exact p, and adjusted by Benjamini-Hochberg."""

    task: int
    change: float
    p: float
    p_adjusted: float


def changing_tasks(
    n: ArrayLike, c: ArrayLike, *, first: int = 0, second: int = -1, rate: float = 0.10
) -> tuple[Changing, ...]:
    """Tasks that change with resources, at a false discovery rate of `rate`, the greatest change first.

    >>> [task.task for task in changing_tasks([[10, 10, 10]] * 2, [[0, 5, 5], [10, 6, 5]])]
    [0]
    """
    # Here and not above, because scipy.stats takes half a second to import and nothing else needs it.
    from scipy.stats import fisher_exact

    trials, passes = _settings(n, c)
    (na, a), (nb, b) = ((trials[s], passes[s]) for s in (first, second))
    p = [float(fisher_exact(np.array([[w, m - w], [x, k - x]]))[1]) for w, m, x, k in zip(a, na, b, nb, strict=True)]
    adjusted = benjamini_hochberg(np.clip(p, 0, 1))
    change = b / nb - a / na
    found = [Changing(t, float(change[t]), p[t], float(adjusted[t])) for t in np.flatnonzero(adjusted <= rate).tolist()]
    return tuple(sorted(found, key=lambda task: (-abs(task.change), task.task)))


def _settings(n: ArrayLike, counted: ArrayLike) -> tuple[Ints, Ints]:
    trials, events = np.asarray(n), np.asarray(counted)
    if trials.ndim != 2 or trials.shape != events.shape or not trials.size:
        raise ValueError("Settings need grids of one shape: a row per setting and a column per task.")
    sizes, counts = (
        whole(trials.ravel(), "n").reshape(trials.shape),
        whole(events.ravel(), "counts").reshape(events.shape),
    )
    if np.any(sizes < 1) or np.any(counts > sizes):
        raise ValueError("Every task needs a trial at every setting, and no count may exceed them.")
    return sizes, counts
