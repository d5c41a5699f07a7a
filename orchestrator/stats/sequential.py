"""Intervals and tests that may be looked at while a sweep runs: valid at every moment, not at a fixed end alone.

By Ville's inequality a non-negative martingale that starts at 1 ever reaches 1/alpha with probability alpha at most.
The price is width: a fixed-horizon interval is narrower at its one horizon. Observations must come in an order
fixed before their outcomes were seen. Sources: Waudby-Smith and Ramdas 2024 (betting, hedged capital);
Ville 1939; Robbins 1970 (mixtures).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy

from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Floats, checked_level, describe, numbers

GRID = 2_000
_TRUNCATION = 0.5
_MIXTURE_LEAST = 1e-12


def mixture_e_value(n: int, s: int, p0: float) -> float:
    """e-value of s passes in n trials against the rate p0: likelihood under a uniform rate over that under p0.

    Reject at any time when it reaches 1/alpha. 0 < p0 < 1.

    >>> round(mixture_e_value(10, 9, 0.5), 4)
    9.3091
    """
    return float(np.exp(_log_mixture(n, s, p0)))


def rate_sequence(n: int, s: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of a rate after s passes in n trials, valid at every n at once: all p0 with an e-value below 1/alpha.

    Trials must be exchangeable, so it is for one task, or for trials each on a task drawn anew.

    >>> [round(v, 3) for v in rate_sequence(100, 60)]
    [0.441, 0.746]
    """
    bound = -np.log(1 - checked_level(level))
    if n == 0:
        return 0.0, 1.0
    found: list[float] = []
    for edge, at_edge in ((_MIXTURE_LEAST, s == 0), (1 - _MIXTURE_LEAST, s == n)):
        inner = min(max(s / n, _MIXTURE_LEAST), 1 - _MIXTURE_LEAST)
        if at_edge:
            found.append(0.0 if s == 0 else 1.0)
            continue
        found.append(float(brentq(lambda p: _log_mixture(n, s, float(p)) - bound, edge, inner)))
    return found[0], found[1]


@dataclass(frozen=True, slots=True)
class Betting:
    """A confidence sequence for the mean of bounded differences, and the e-process against a mean of `null`.

    low, high: [N], after each observation; running intersections, so they never widen. e_values: [N]. stopped: the
    first count at which the e-process reached 1/alpha, None if it never did. anytime_p: 1 / greatest e-value.
    """

    mean: float | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    e_values: tuple[float, ...]
    anytime_p: float | None
    stopped: int | None
    level: float
    estimand: Estimand
    reason: str | None = None


def betting(
    differences: ArrayLike,
    *,
    bounds: tuple[float, float] = (-1.0, 1.0),
    null: float = 0.0,
    level: float = 0.95,
    grid: int = GRID,
    statistic: str = "difference",
) -> Betting:
    """Bet on bounded paired differences [N], one per task in the order in which tasks were finished by plan.

    Hedged capital with predictable plug-in bets: half the money on a mean above each candidate, half on one below;
    candidates whose capital reaches 1/alpha leave. The ends are rounded outward to the grid of `grid` steps. Differences
    outside `bounds` are refused. Undefined without an observation.

    >>> found = betting([0.4, 0.6, 0.2, 0.5] * 15)
    >>> round(found.low[-1], 2) > 0, found.stopped is not None, len(found.low)
    (True, True, 60)
    """
    values = numbers(differences, "differences")
    low, high = bounds
    alpha = 1 - checked_level(level)
    about = describe(
        statistic,
        np.ones(values.size, dtype=np.int64),
        unit="task",
        population=TASKS_LIKE_THESE,
        method="betting, valid at every moment",
    )
    if not low < high or np.any(values < low - 1e-12) or np.any(values > high + 1e-12):
        raise ValueError(f"Differences must lie within the declared bounds {low:g}..{high:g}.")
    if not low < null < high:
        raise ValueError("The null value must lie inside the bounds.")
    if values.size == 0:
        return Betting(None, (), (), (), None, None, level, about, "Nothing was observed yet.")
    x = np.clip((values - low) / (high - low), 0.0, 1.0)
    bets = _bets(x, alpha)
    lows, highs = _sequence(x, bets, alpha, grid)
    log_e = _log_capital(x, bets, np.array([(null - low) / (high - low)]))[:, 0]
    e_values = np.exp(np.minimum(log_e, 700.0))
    crossed = np.flatnonzero(e_values >= 1 / alpha)
    width = high - low
    return Betting(
        float(values.mean()),
        tuple((low + width * lows).tolist()),
        tuple((low + width * highs).tolist()),
        tuple(e_values.tolist()),
        min(1.0, float(np.exp(-max(0.0, float(log_e.max()))))),
        int(crossed[0]) + 1 if crossed.size else None,
        level,
        about,
    )


def _log_mixture(n: int, s: int, p0: float) -> float:
    if not 0 <= s <= n:
        raise ValueError(f"{s} passes in {n} trials are impossible.")
    if not 0 < p0 < 1:
        raise ValueError(f"The rate under test lies inside 0..1, not at {p0}.")
    return float(betaln(s + 1, n - s + 1) - xlogy(s, p0) - xlog1py(n - s, -p0))


def _bets(x: Floats, alpha: float) -> Floats:
    """Predictable plug-in bets [N]: each from what was seen before, shrunk towards 1/2 and 1/4 at the start."""
    t = np.arange(1, x.size + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    return np.asarray(np.sqrt(2 * np.log(2 / alpha) / (before * t * np.log1p(t))), dtype=np.float64)


def _log_capital(x: Floats, bets: Floats, means: Floats) -> Floats:
    """Log of the hedged capital [N, M] for each candidate mean in (0, 1), after each observation."""
    gap = x[:, None] - means
    up = np.minimum(bets[:, None], _TRUNCATION / means)
    down = np.minimum(bets[:, None], _TRUNCATION / (1 - means))
    rise, fall = np.cumsum(np.log1p(up * gap), axis=0), np.cumsum(np.log1p(-down * gap), axis=0)
    return np.asarray(np.logaddexp(rise, fall) - np.log(2), dtype=np.float64)


def _sequence(x: Floats, bets: Floats, alpha: float, grid: int) -> tuple[Floats, Floats]:
    """Running ends [N] of the set of means not yet excluded, rounded outward by one grid step."""
    means = (np.arange(grid) + 0.5) / grid
    kept = np.empty((x.size, grid), dtype=bool)
    for start in range(0, grid, 250):
        part = slice(start, start + 250)
        kept[:, part] = np.maximum.accumulate(_log_capital(x, bets, means[part]), axis=0) < np.log(1 / alpha)
    some = kept.any(axis=1)
    # Should every candidate leave, which has probability alpha at most, the last non-empty set stands.
    last = np.maximum.accumulate(np.where(some, np.arange(x.size), 0))
    first_kept = kept.argmax(axis=1)[last]
    last_kept = grid - 1 - kept[:, ::-1].argmax(axis=1)[last]
    low = np.where(first_kept == 0, 0.0, means[np.maximum(first_kept - 1, 0)])
    high = np.where(last_kept == grid - 1, 1.0, means[np.minimum(last_kept + 1, grid - 1)])
    return low, high
