"""Intervals for independent trials, and the quantiles behind all intervals: Wilson 1927, Clopper and Pearson 1934.

x and n may be effective numbers, which are not whole; nothing here knows of tasks.
"""

from scipy.special import betaincinv, ndtri, stdtrit

from orchestrator.stats.sample import checked_level


def normal_quantile(level: float) -> float:
    """z of a two-sided interval.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return float(ndtri(0.5 + checked_level(level) / 2))


def t_quantile(level: float, df: float) -> float:
    """t of a two-sided interval with df degrees of freedom.

    >>> round(t_quantile(0.95, 3), 3)
    3.182
    """
    return float(stdtrit(df, 0.5 + checked_level(level) / 2))


def wilson(x: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for x passes in n independent trials; x and n may be effective, not whole, numbers.

    >>> [round(v, 4) for v in wilson(238, 280)]
    [0.8035, 0.8871]
    """
    _checked_rate(x, n)
    z2 = normal_quantile(level) ** 2
    p = x / n
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = (z2 * (p * (1 - p) / n + z2 / (4 * n * n))) ** 0.5 / (1 + z2 / n)
    return (0.0 if x == 0 else max(0.0, centre - half)), (1.0 if x == n else min(1.0, centre + half))


def clopper_pearson(x: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval; x and n may be effective numbers.

    >>> [round(v, 4) for v in clopper_pearson(0, 10)]
    [0.0, 0.3085]
    """
    _checked_rate(x, n)
    tail = (1 - checked_level(level)) / 2
    low = 0.0 if x == 0 else float(betaincinv(x, n - x + 1, tail))
    return low, (1.0 if x == n else float(betaincinv(x + 1, n - x, 1 - tail)))


def beta_interval(x: float, n: float, level: float = 0.95, *, prior: float = 0.5) -> tuple[float, float]:
    """Equal-tailed posterior interval under Beta(prior, prior); 0.5 is Jeffreys', cut to 0 at x = 0 and 1 at x = n.

    >>> [round(v, 4) for v in beta_interval(7, 10)]
    [0.3942, 0.9073]
    """
    _checked_rate(x, n)
    tail = (1 - checked_level(level)) / 2
    cut = prior == 0.5
    low = 0.0 if cut and x == 0 else float(betaincinv(x + prior, n - x + prior, tail))
    return low, (1.0 if cut and x == n else float(betaincinv(x + prior, n - x + prior, 1 - tail)))


def _checked_rate(x: float, n: float) -> None:
    if not 0 <= x <= n or n <= 0:
        raise ValueError(f"A rate needs 0 <= x <= n and n > 0, not x = {x}, n = {n}.")
