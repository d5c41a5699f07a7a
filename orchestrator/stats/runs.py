"""Run-to-run noise: what one repeat of the whole suite scores, how much repeats should differ, and whether they do.

Under independent trials each task's outcomes are exchangeable across repeats, so the spread of the repeats' scores
is compared with what permuting each task's outcomes gives. Repeats that are too even are as suspicious (shared
caches, copied rows) as repeats that are too uneven (bad days). Phipson and Smyth 2010 for p = (b+1)/(m+1).
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.intervals import normal_quantile
from orchestrator.stats.sample import Estimand, Floats, describe

SHUFFLES = 10_000
_EXACT_UP_TO = 20_000
_BLOCK = 1 << 22
_DEALT_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True)
class ShuffleTest:
    """p_uneven: chance of a spread at least as large under shuffling; p_even: at least as small; p: two-sided,
    twice the smaller, at most 1. exact: all arrangements were counted, and then p needs no (b+1)/(m+1)."""

    p: float
    p_uneven: float
    p_even: float
    shuffles: int
    exact: bool


@dataclass(frozen=True, slots=True)
class RunToRun:
    """scores [R], their range and SD (ddof=1); SDs expected from independent trials, divisor n and n-1.

    must_differ: two single runs must differ by more than this to be told apart (score units, at `level`).
    left_out: tasks without a score in every repeat, kept out.
    """

    scores: tuple[float, ...]
    low: float | None
    high: float | None
    sd: float | None
    predicted_plugin: float | None
    predicted_unbiased: float | None
    must_differ: float | None
    test: ShuffleTest | None
    left_out: int
    level: float
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


def run_to_run(
    outcomes: ArrayLike, *, rng: np.random.Generator, shuffles: int = SHUFFLES, level: float = 0.95
) -> RunToRun:
    """Describe and test the repeats of one arm: outcomes [T, R], NaN where a trial is missing.

    Undefined with a reason below 2 repeats or without a complete task.

    >>> found = run_to_run([[1, 1, 0], [1, 0, 0], [1, 0, 0]], rng=np.random.default_rng(0))
    >>> found.test.exact, round(found.test.p_uneven, 4), round(found.sd, 4)
    (True, 0.2222, 0.5092)
    """
    table = np.asarray(outcomes, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("outcomes must be of shape [tasks, repeats].")
    complete = np.isfinite(table).all(axis=1)
    held, left_out, repeats = table[complete], int((~complete).sum()), table.shape[1]
    about = describe(
        "score per repeat", np.full(len(held), repeats), unit="trial within task", method="shuffle within tasks"
    )
    note = f"{left_out} tasks lack a repeat and were left out." if left_out else None
    if repeats < 2 or not len(held):
        reason = "There is no task with every repeat." if repeats >= 2 else "A single repeat has no spread."
        scores = tuple(float(s) for s in held.mean(axis=0)) if len(held) else ()
        none = None
        return RunToRun(scores, none, none, none, none, none, none, none, left_out, level, about, reason, note)
    scores = held.mean(axis=0)
    unbiased = float(np.sqrt(held.var(axis=1, ddof=1).sum()) / len(held))
    return RunToRun(
        tuple(float(s) for s in scores),
        float(scores.min()),
        float(scores.max()),
        float(scores.std(ddof=1)),
        float(np.sqrt(held.var(axis=1).sum()) / len(held)),
        unbiased,
        normal_quantile(level) * 2**0.5 * unbiased,
        shuffle_test(held, rng=rng, shuffles=shuffles),
        left_out,
        level,
        about,
        None,
        note,
    )


def shuffle_test(outcomes: ArrayLike, *, rng: np.random.Generator, shuffles: int = SHUFFLES) -> ShuffleTest | None:
    """Permute each task's outcomes [T, R] across repeats and compare the spread of the repeats' sums.

    Exact where pass-or-fail outcomes have at most 20,000 arrangements. None where no task varies: nothing can be
    shuffled.

    >>> shuffle_test([[1, 0], [1, 0]], rng=np.random.default_rng(0))
    ShuffleTest(p=1.0, p_uneven=0.5, p_even=1.0, shuffles=4, exact=True)
    """
    table = np.asarray(outcomes, dtype=np.float64)
    mixed = table[table.min(axis=1) < table.max(axis=1)]
    if not len(mixed):
        return None
    observed = float(_spread(mixed.sum(axis=0)))
    slack = 1e-9 * max(1.0, observed)
    binary = bool(((mixed == 0.0) | (mixed == 1.0)).all())
    exact = binary and _arrangements(mixed) <= _EXACT_UP_TO
    shuffled = _dealt_spreads if binary else _shuffled_spreads
    spreads = _all_spreads(mixed) if exact else shuffled(mixed, rng, shuffles)
    more, less = int((spreads >= observed - slack).sum()), int((spreads <= observed + slack).sum())
    extra = 0 if exact else 1
    uneven, even = (more + extra) / (spreads.size + extra), (less + extra) / (spreads.size + extra)
    return ShuffleTest(min(1.0, 2 * min(uneven, even)), uneven, even, int(spreads.size), exact)


def _spread(totals: Floats) -> Floats:
    return np.asarray(((totals - totals.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1))


def _arrangements(mixed: Floats) -> int:
    return prod(comb(mixed.shape[1], int(c)) for c in mixed.sum(axis=1))


def _all_spreads(mixed: Floats) -> Floats:
    repeats = mixed.shape[1]
    totals = np.zeros((1, repeats))
    for passes in mixed.sum(axis=1).astype(int):
        rows = np.zeros((comb(repeats, int(passes)), repeats))
        for row, chosen in enumerate(combinations(range(repeats), int(passes))):
            rows[row, list(chosen)] = 1.0
        totals = (totals[:, None] + rows[None]).reshape(-1, repeats)
    return _spread(totals)


def _dealt_spreads(mixed: Floats, rng: np.random.Generator, shuffles: int) -> Floats:
    """Pass or fail: each task's passes are dealt over the repeats one repeat after another, each going to the next
    repeat with chance (passes left) / (repeats left), which makes all arrangements equally likely (selection sampling:
    Fan, Muller and Rezucha 1962) and is 5 times faster than permuting."""
    tasks, repeats = mixed.shape
    passes = mixed.sum(axis=1).astype(np.float32)
    step = max(1, _DEALT_AT_ONCE // tasks)
    found = []
    for start in range(0, shuffles, step):
        left = np.repeat(passes[None], min(step, shuffles - start), axis=0)
        totals = np.empty((len(left), repeats))
        for repeat in range(repeats):
            goes = rng.random(left.shape, dtype=np.float32) * np.float32(repeats - repeat) < left
            left -= goes
            totals[:, repeat] = np.count_nonzero(goes, axis=1)
        found.append(_spread(totals))
    return np.concatenate(found)


def _shuffled_spreads(mixed: Floats, rng: np.random.Generator, shuffles: int) -> Floats:
    step = max(1, _BLOCK // mixed.size)
    found = []
    for start in range(0, shuffles, step):
        block = np.repeat(mixed[None].astype(np.float32), min(step, shuffles - start), axis=0)
        rng.permuted(block, axis=2, out=block)
        found.append(_spread(block.sum(axis=1, dtype=np.float64)))
    return np.concatenate(found)
