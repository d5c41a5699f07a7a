"""Many comparisons at once: adjusted p values, all pairs of arms, arms that cannot be told apart, rank intervals.

The family is what the caller hands over: every p value of it, or every arm. Sources: Holm 1979; Benjamini and
Hochberg 1995; Benjamini and Yekutieli 2001; Westfall and Young 1993, algorithm 2.8 (step-down max-T);
Piepho 2004 (letters); Mogstad, Romano, Shaikh and Wilhelm 2024 (ranks).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Floats, checked_level, describe, groups
from orchestrator.stats.signflip import FLIPS, sign_blocks

_CELLS = 1 << 21


def holm(p: ArrayLike) -> Floats:
    """Holm's step-down adjusted p values [m]: the chance of any false claim in the family is held, for claims.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    return _put_back(np.minimum(steps, 1.0), order)


def bonferroni(p: ArrayLike) -> Floats:
    """Bonferroni's adjusted p values [m]; never better than Holm's, but each stands without the others.

    >>> bonferroni([0.01, 0.5]).tolist()
    [0.02, 1.0]
    """
    values = _checked(p)
    return np.minimum(values * values.size, 1.0)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjusted p values [m] that hold the expected share of false finds, for screening (independent or positive).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.04, 0.04]
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")[::-1]
    steps = values[order] * values.size / np.arange(values.size, 0, -1)
    return _put_back(np.minimum(np.minimum.accumulate(steps), 1.0), order)


def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """As Benjamini-Hochberg, under any dependence, for a factor 1 + 1/2 + ... + 1/m.

    >>> benjamini_yekutieli([0.01, 0.04]).round(6).tolist()
    [0.03, 0.06]
    """
    values = _checked(p)
    factor = float((1 / np.arange(1, values.size + 1)).sum())
    return np.minimum(benjamini_hochberg(values) * factor, 1.0)


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair of arms, by index: difference = mean of second - first; p_adjusted over the family, p alone."""

    first: int
    second: int
    difference: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class AllPairs:
    """All pairs of A arms over the same tasks; pairs is None with a reason below 2 arms or without a task.

    means: [A]. groups: arms that cannot be told apart, best first; an arm can stand in several. ranks: (best,
    worst) rank of each arm, 1 is the highest mean; all hold at once with probability `level`, about.
    """

    means: tuple[float, ...]
    pairs: tuple[Pair, ...] | None
    groups: tuple[tuple[int, ...], ...] | None
    ranks: tuple[tuple[int, int], ...] | None
    level: float
    flips: int
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


def all_pairs(
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    cluster: ArrayLike | None = None,
    n: ArrayLike | None = None,
    level: float = 0.95,
    flips: int = FLIPS,
    statistic: str = "score",
) -> AllPairs:
    """Compare all pairs of arms by task values [A, T] with step-down max-T over shared sign flips.

    The statistic of a pair is |sum d| / sqrt(sum d^2) of its task (or cluster) differences d; each random sign
    pattern is applied to all pairs, so p values keep their dependence. p = (b+1)/(flips+1). With two arms this is
    the sign-flip test. For three or more the joint null distribution is approximate, exact for each pair.

    >>> rng = np.random.default_rng(0)
    >>> arms = np.array([[0.9], [0.5], [0.5]]) + rng.normal(0, 0.05, (3, 40))
    >>> found = all_pairs(arms, rng=rng, flips=999)
    >>> found.groups, found.ranks
    (((0,), (1, 2)), ((1, 1), (2, 3), (2, 3)))
    """
    table = _table(values)
    arms, tasks = table.shape
    index, units, unit = groups(cluster, tasks)
    trials = np.ones(tasks, dtype=np.int64) if n is None else n
    checked_level(level)
    about = describe(
        statistic, trials, unit=unit, population=TASKS_LIKE_THESE, method=f"step-down max-T, {flips} shared sign flips"
    )
    if arms < 2 or tasks == 0:
        why = "There is no task." if tasks == 0 else "One arm has no pair."
        means = tuple(table.mean(axis=1).tolist()) if tasks else ()
        return AllPairs(means, None, None, None, level, 0, about, why)
    if flips < 1:
        raise ValueError("max-T needs at least one flip.")
    sums = np.stack([np.bincount(index, weights=row, minlength=units) for row in table]).astype(np.float64)
    ends = np.array(list(combinations(range(arms), 2)))
    alone, adjusted = _max_t(sums, ends, flips, rng)
    means = table.mean(axis=1)
    pairs = tuple(
        Pair(int(i), int(j), float(means[j] - means[i]), float(p), float(q))
        for (i, j), p, q in zip(ends, alone, adjusted, strict=True)
    )
    apart = [(pair.first, pair.second) for pair in pairs if pair.p_adjusted <= 1 - level]
    note = None
    if 2.0 ** (1 - units) > 1 - level:
        note = f"{units} {unit}s: no pair can be told apart at {level:g}, whatever the scores."
    return AllPairs(
        tuple(means.tolist()),
        pairs,
        not_apart(means, apart),
        rank_intervals(means, apart),
        level,
        flips,
        about,
        None,
        note,
    )


def not_apart(means: ArrayLike, apart: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Largest groups of arms no two of which are told apart, best mean first (insert and absorb, Piepho 2004).

    >>> not_apart([0.9, 0.8, 0.7], [(0, 2)])
    ((0, 1), (1, 2))
    """
    order = np.argsort(-np.asarray(means, dtype=np.float64), kind="stable")
    found: list[frozenset[int]] = [frozenset(range(order.size))]
    for i, j in apart:
        split = [part for group in found if {i, j} <= group for part in (group - {i}, group - {j})]
        whole = [group for group in found if not {i, j} <= group]
        found = whole + [part for part in dict.fromkeys(split) if not any(part <= group for group in whole)]
        found = [group for group in found if not any(group < other for other in found)]
    place = {int(arm): at for at, arm in enumerate(order)}
    sorted_groups = [tuple(sorted(group, key=place.__getitem__)) for group in found]
    return tuple(sorted(sorted_groups, key=lambda group: [place[arm] for arm in group]))


def rank_intervals(means: ArrayLike, apart: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """(best, worst) rank of each arm: below every arm told apart above it, above every arm told apart below it.

    >>> rank_intervals([0.9, 0.8, 0.7], [(0, 2)])
    ((1, 2), (1, 3), (2, 3))
    """
    height = np.asarray(means, dtype=np.float64)
    best = np.ones(height.size, dtype=np.int64)
    worst = np.full(height.size, height.size, dtype=np.int64)
    for i, j in apart:
        upper, lower = (i, j) if height[i] > height[j] else (j, i)
        worst[upper] -= 1
        best[lower] += 1
    return tuple(zip(best.tolist(), worst.tolist(), strict=True))


def _max_t(sums: Floats, ends: NDArray[np.int64], flips: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """p of each pair alone, and step-down adjusted, both with (b+1)/(flips+1); ties count against the claim."""
    first, second = ends[:, 0], ends[:, 1]
    gaps = sums[second] - sums[first]
    length = np.sqrt((gaps**2).sum(axis=1))
    # Arms that agree on every task up to rounding have nothing to test: their statistic is 0 under every flip.
    length[length < 1e-12 * max(1.0, float(np.abs(sums).max()))] = np.inf
    seen = np.abs(gaps.sum(axis=1)) / length - 1e-10
    order = np.argsort(seen, kind="stable")
    # Pairs from the least to the most extreme, one row each, so that the running maximum goes down whole rows.
    first, second, length, seen = first[order], second[order], length[order, None], seen[order, None]
    alone, joint = np.zeros(seen.size, dtype=np.int64), np.zeros(seen.size, dtype=np.int64)
    rows = max(1, _CELLS // seen.size)
    for block in sign_blocks(sums.shape[1], flips, rng):
        for start in range(0, len(block), rows):
            flipped = sums @ block[start : start + rows].T
            found = np.abs(flipped[second] - flipped[first])
            found /= length
            alone += np.count_nonzero(found >= seen, axis=1)
            np.maximum.accumulate(found, axis=0, out=found)
            joint += np.count_nonzero(found >= seen, axis=1)
    p, adjusted = np.empty(seen.size), np.empty(seen.size)
    p[order] = (alone + 1) / (flips + 1)
    adjusted[order[::-1]] = np.maximum.accumulate((joint[::-1] + 1) / (flips + 1))
    return p, adjusted


def _checked(p: ArrayLike) -> Floats:
    values = np.atleast_1d(np.asarray(p, dtype=np.float64))
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("p values must lie within 0..1: leave undefined ones out of the family, and say so.")
    return values


def _put_back(adjusted: Floats, order: NDArray[np.int64]) -> Floats:
    found = np.empty_like(adjusted)
    found[order] = adjusted
    return found


def _table(values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not np.all(np.isfinite(table)):
        raise ValueError("values must be finite, one row per arm and one column per task: every arm has every task.")
    return table
