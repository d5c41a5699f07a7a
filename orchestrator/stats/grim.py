"""Whether printed figures can come from whole counts at all, and which counts they come from.

GRIM (Brown and Heathers 2017): a mean of whole numbers over N can only take values j/N. Applied to pass^1..pass^n of
T tasks with n trials, the printed figures often fix the whole histogram of passes, or show that there is none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, comb, floor

_HALF = Fraction(1, 2)
# A figure with more decimals is a float printed in full, whose last digits are rounding errors of the sum.
_FLOAT_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Grim:
    """possible: some whole count prints as the figure. counts: all of them, of `total`."""

    possible: bool
    counts: tuple[int, ...]
    total: int
    reason: str | None = None


def grim(printed: str, total: int, *, scale: int = 100) -> Grim:
    """The whole counts x for which scale * x / total prints as the figure, at the decimals of its text.

    Rounding half up, half even and half down are all allowed: both ends of the rounding interval count.

    >>> grim("85.0", 280).counts, grim("84.9", 28).possible
    ((238,), False)
    """
    first, last = _bounds(printed, total, scale)
    found = tuple(range(first, last + 1))
    reason = None if found else f"No whole count of {total} prints as {printed}."
    return Grim(bool(found), found, total, reason)


def prints(printed: str, total: int, *, scale: int = 100) -> bool:
    """Whether any whole count of total prints as the figure, without listing them: total may be of any size.

    >>> prints("50.0", 10**30), prints("84.9", 28)
    (True, False)
    """
    first, last = _bounds(printed, total, scale)
    return first <= last


def _bounds(printed: str, total: int, scale: int) -> tuple[int, int]:
    """The least and the greatest count; the greatest is below the least where there is none."""
    if total < 1:
        raise ValueError("total must be at least 1.")
    low, high = _rounding(printed)
    return max(0, ceil(low * total / scale)), min(total, floor(high * total / scale))


@dataclass(frozen=True, slots=True)
class Inversion:
    """histograms[i][c] is the number of tasks with c passes of n. truncated: the search stopped at its limit."""

    histograms: tuple[tuple[int, ...], ...]
    tasks: int
    trials: int
    truncated: bool
    reason: str | None = None

    @property
    def attainable(self) -> bool:
        return bool(self.histograms)

    @property
    def unique(self) -> bool:
        return len(self.histograms) == 1 and not self.truncated


def invert_pass_hat(printed: tuple[str, ...], tasks: int, *, scale: int = 100, limit: int = 1000) -> Inversion:
    """All histograms of passes that print as pass^1..pass^n; n is how many figures there are.

    pass^k = sum_c h_c C(c,k)/C(n,k) / T is triangular: pass^n fixes h_n, then pass^(n-1) fixes h_(n-1), and so on,
    each within the rounding of its text, in exact fractions.

    >>> found = invert_pass_hat(("42.0", "27.3", "22.0", "20.0"), 50)
    >>> found.unique, found.histograms[0]
    (True, (14, 12, 10, 4, 10))
    """
    trials = len(printed)
    if tasks < 1 or trials < 1:
        raise ValueError("An inversion needs at least one task and one figure.")
    found: list[tuple[int, ...]] = []
    for histogram in _search([_rounding(text) for text in printed], tasks, trials, scale):
        if len(found) == limit:
            return Inversion(tuple(found), tasks, trials, True)
        found.append(histogram)
    reason = None if found else f"No counts of {tasks} tasks with {trials} trials print as {', '.join(printed)}."
    return Inversion(tuple(found), tasks, trials, False, reason)


def invert_pass_at(printed: tuple[str, ...], tasks: int, *, scale: int = 100, limit: int = 1000) -> Inversion:
    """All histograms of passes that print as pass@1..pass@n; n is how many figures there are.

    1 - pass@k is pass^k of the failures, so the complements at the same decimals are inverted, and turned round.

    >>> invert_pass_at(("50.0", "66.7", "75.0"), 4).histograms
    ((1, 1, 1, 1),)
    """
    failed = invert_pass_hat(tuple(_complement(text, scale) for text in printed), tasks, scale=scale, limit=limit)
    found = tuple(histogram[::-1] for histogram in failed.histograms)
    reason = None if found else f"No counts of {tasks} tasks with {failed.trials} trials print as {', '.join(printed)}."
    return Inversion(found, tasks, failed.trials, failed.truncated, reason)


def _complement(printed: str, scale: int) -> str:
    value = Decimal(printed.strip().rstrip("%"))
    return str(Decimal(scale) - value)


def _search(limits: list[tuple[Fraction, Fraction]], tasks: int, trials: int, scale: int) -> Iterator[tuple[int, ...]]:
    def descend(c: int, upper: dict[int, int]) -> Iterator[tuple[int, ...]]:
        left = tasks - sum(upper.values())
        if c == 0:
            yield (left, *(upper[i] for i in range(1, trials + 1)))
            return
        # pass^c * T * C(n,c) = sum over i >= c of h_i C(i,c), and C(c,c) = 1.
        held = sum(count * comb(i, c) for i, count in upper.items())
        unit = Fraction(tasks * comb(trials, c), scale)
        low, high = limits[c - 1][0] * unit - held, limits[c - 1][1] * unit - held
        for count in range(max(0, ceil(low)), min(left, floor(high)) + 1):
            yield from descend(c - 1, {**upper, c: count})

    yield from descend(trials, {})


def _rounding(printed: str) -> tuple[Fraction, Fraction]:
    text = printed.strip().rstrip("%")
    decimals = min(len(text.partition(".")[2]), _FLOAT_DECIMALS)
    value, half = Fraction(text), _HALF / 10**decimals
    return value - half, value + half
