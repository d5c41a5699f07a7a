"""The paired sign-flip test: are differences between two arms on the same tasks larger than chance labels give?

Under the null hypothesis the two labels of a task may be exchanged, so each difference is as likely as its negative.
That holds for arms with the same number of trials per task; with unequal numbers it holds approximately.
Sources: Fisher 1935, section 21; Phipson and Smyth 2010 for (b+1)/(m+1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Floats, describe, groups, numbers, whole

Alternative = Literal["two-sided", "greater", "less"]
EXACT_UNITS = 20
FLIPS = 20_000
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class SignFlip:
    """p of the sign-flip test; None with a reason where there is no task.

    flips: sign patterns looked at, all 2^units of them if `exact`. smallest: the least p this design can give.
    units: tasks (or clusters) whose difference is not zero; the others cannot change the sum.
    """

    p: float | None
    difference: float | None
    exact: bool
    flips: int
    units: int
    smallest: float | None
    alternative: Alternative
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


def sign_flip(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    cluster: ArrayLike | None = None,
    n: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    flips: int = FLIPS,
    statistic: str = "difference",
) -> SignFlip:
    """Test that the mean of differences [T], one per task, is zero.

    Exact where at most 2^20 sign patterns exist; beyond, `flips` random ones and p = (b+1)/(m+1), never 0. Whole
    clusters flip together. Sums that tie with the observed one count as extreme. n [T]: trials per task, for the
    estimand alone.

    >>> test = sign_flip([0.5, 0.5, -0.5, 0.25, 0.75, 1.0], rng=np.random.default_rng(0))
    >>> test.p, test.exact, test.smallest
    (0.15625, True, 0.03125)
    """
    values = numbers(differences, "differences")
    index, units, unit = groups(cluster, values.size)
    trials = np.ones(values.size, dtype=np.int64) if n is None else n
    if alternative not in ("two-sided", "greater", "less"):
        raise ValueError(f"The alternative is 'two-sided', 'greater' or 'less', not {alternative!r}.")
    sums: Floats = np.bincount(index, weights=values, minlength=units).astype(np.float64)
    # Rounding must not make a difference of nothing: 0.3 - (0.1 + 0.2) is not evidence.
    moving = sums[np.abs(sums) > 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0)))]
    exact = moving.size <= EXACT_UNITS
    method = "exact sign-flip" if exact else f"sign-flip, {flips} random flips"
    about = describe(statistic, trials, unit=unit, population=TASKS_LIKE_THESE, method=method)
    if values.size == 0:
        return SignFlip(None, None, exact, 0, 0, None, alternative, about, "There is no task.")
    count, total = _exact(moving, alternative) if exact else _monte_carlo(moving, alternative, flips, rng)
    p, smallest = (count / total, 1 / total) if exact else ((count + 1) / (total + 1), 1 / (total + 1))
    if exact and alternative == "two-sided" and moving.size:
        smallest *= 2
    note = None
    if smallest >= 0.05:
        note = f"{moving.size} {unit}s with a difference: p cannot fall below {smallest:.3g} whatever they are."
    return SignFlip(p, float(values.mean()), exact, total, moving.size, smallest, alternative, about, None, note)


def sign_test(wins: int, losses: int) -> float | None:
    """Exact two-sided sign test of wins against losses, ties left out (McNemar's exact test). None at no win or loss.

    >>> round(sign_test(15, 5), 4), sign_test(0, 0)
    (0.0414, None)
    """
    won, lost = (int(v) for v in whole([wins, losses], "wins and losses"))
    return min(1.0, 2 * float(bdtr(min(won, lost), won + lost, 0.5))) if won + lost else None


def sign_blocks(units: int, flips: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Random signs, +1.0 or -1.0, in blocks of shape [<= flips, units], `flips` rows in all; shared by many tests.

    >>> [block.shape for block in sign_blocks(3, 5, np.random.default_rng(0))]
    [(5, 3)]
    """
    for packed in _packed_signs(units, flips, rng):
        yield 1.0 - 2.0 * np.unpackbits(packed, axis=1, count=units).astype(np.float64)


def _packed_signs(units: int, flips: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """Random signs as bits, 1 for minus, eight units to a byte."""
    rows = max(1, _BLOCK // max(units, 1))
    for start in range(0, flips, rows):
        size = min(rows, flips - start)
        yield rng.integers(0, 256, (size, (units + 7) // 8), dtype=np.uint8)


def _flipped_sums(sums: Floats, flips: int, rng: np.random.Generator) -> Iterator[Floats]:
    """The sum under random signs, as `sign_blocks` @ sums, in blocks. Each byte of signs looks up the sum of its eight
    units, which is 10 times faster than unpacking and multiplying."""
    padded = np.zeros((-(-sums.size // 8), 8))
    padded.ravel()[: sums.size] = sums
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    table = (padded @ signs.T).ravel()
    first = 256 * np.arange(len(padded))
    for packed in _packed_signs(sums.size, flips, rng):
        yield table[packed + first].sum(axis=1)


def all_sums(sums: Floats) -> Floats:
    """The sum under every sign pattern, shape [2^units]; the first is the observed one. Refused above 20 units.

    >>> all_sums(np.array([1.0, 2.0])).tolist()
    [3.0, -1.0, 1.0, -3.0]
    """
    if sums.size > EXACT_UNITS:
        raise ValueError(f"2^{sums.size} sign patterns are too many: at most 2^{EXACT_UNITS}.")
    found = np.zeros(1)
    for value in sums[::-1]:
        found = np.concatenate([found + value, found - value])
    return found


def _exact(sums: Floats, alternative: Alternative) -> tuple[int, int]:
    found = all_sums(sums)
    return _extreme(found, sums, alternative), found.size


def _monte_carlo(sums: Floats, alternative: Alternative, flips: int, rng: np.random.Generator) -> tuple[int, int]:
    if flips < 1:
        raise ValueError("A Monte Carlo test needs at least one flip.")
    return sum(_extreme(found, sums, alternative) for found in _flipped_sums(sums, flips, rng)), flips


def _extreme(found: Floats, sums: Floats, alternative: Alternative) -> int:
    observed = float(sums.sum())
    slack = 1e-10 * float(np.abs(sums).sum())
    if alternative == "two-sided":
        return int((np.abs(found) >= abs(observed) - slack).sum())
    side = found >= observed - slack if alternative == "greater" else found <= observed + slack
    return int(side.sum())
