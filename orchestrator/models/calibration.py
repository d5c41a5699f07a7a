"""A judge against what is known: agreement, kappa, sensitivity and specificity, per arm. Pure.

`known` are verdicts of tests or of people. Intervals resample task clusters (percentile bootstrap), because
attempts of one task are alike. A number that is not defined is None: kappa when either side never varies,
sensitivity without a known pass, specificity without a known failure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.stats.bootstrap import unit_weights

REPLICATES = 4000
LEVEL = 0.95
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """One attempt: what the judge says and what is known. `unit` is the task cluster that is resampled."""

    arm: str
    unit: str
    judge: bool
    known: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its interval; all None where it is not defined, the bounds also below two units."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """One arm. `gwet` is AC1, which stays meaningful where almost everything passes or fails."""

    arm: str
    pairs: int
    units: int
    judge_rate: float
    known_rate: float
    agreement: Figure
    kappa: Figure
    gwet: Figure
    sensitivity: Figure
    specificity: Figure


def calibrate(pairs: Iterable[Pair], seed: int = 0) -> list[Calibration]:
    """One calibration per arm, by name."""
    by_arm: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_arm.setdefault(pair.arm, []).append(pair)
    return [_arm(arm, listed, np.random.default_rng(seed)) for arm, listed in sorted(by_arm.items())]


def gap(calibrations: Sequence[Calibration]) -> tuple[float, float] | None:
    """(widest gap between arms as the judge sees it, the same arms' gap as known); None below two arms.

    Where the two differ, the judge favours an arm.
    """
    if len(calibrations) < 2:
        return None
    ranked = sorted(calibrations, key=lambda c: c.judge_rate)
    return ranked[-1].judge_rate - ranked[0].judge_rate, ranked[-1].known_rate - ranked[0].known_rate


def _arm(arm: str, pairs: list[Pair], rng: np.random.Generator) -> Calibration:
    counts = Counter((pair.unit, pair.judge, pair.known) for pair in pairs)
    units = sorted({pair.unit for pair in pairs})
    cells = [(True, True), (True, False), (False, True), (False, False)]
    table = np.array([[counts[(unit, *cell)] for cell in cells] for unit in units], dtype=np.float64)
    drawn = np.vstack([weights @ table for weights in unit_weights(len(units), REPLICATES, rng)])
    both, judge_only, known_only, _ = total = table.sum(axis=0)
    figures = zip(*(_figures(row) for row in (total[None, :], drawn)), strict=True)
    agreement, kappa, gwet, sensitivity, specificity = (_figure(v, d, len(units)) for v, d in figures)
    return Calibration(
        arm,
        len(pairs),
        len(units),
        float((both + judge_only) / len(pairs)),
        float((both + known_only) / len(pairs)),
        agreement,
        kappa,
        gwet,
        sensitivity,
        specificity,
    )


def _figures(counts: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Agreement, kappa (Cohen 1960), AC1 (Gwet 2008), sensitivity, specificity of each row of counts."""
    both, judge_only, known_only, neither = counts.T
    n = counts.sum(axis=1)
    agreed = (both + neither) / n
    judge, known = (both + judge_only) / n, (both + known_only) / n
    by_chance = judge * known + (1 - judge) * (1 - known)
    mean = (judge + known) / 2
    gwet_chance = 2 * mean * (1 - mean)
    constant = (judge == 0) | (judge == 1) | (known == 0) | (known == 1)
    kappa = _divide(agreed - by_chance, np.where(constant, 0.0, 1 - by_chance))
    gwet = _divide(agreed - gwet_chance, 1 - gwet_chance)
    return agreed, kappa, gwet, _divide(both, both + known_only), _divide(neither, neither + judge_only)


def _divide(top: Floats, bottom: Floats) -> Floats:
    """NaN, inside this module only, where the bottom is 0."""
    out: Floats = np.full(len(top), np.nan)
    np.divide(top, bottom, out=out, where=bottom != 0)
    return out


def _figure(value: Floats, drawn: Floats, units: int) -> Figure:
    point = float(value[0])
    if np.isnan(point):
        return Figure(None)
    kept = drawn[~np.isnan(drawn)]
    if units < 2 or not len(kept):
        return Figure(point)
    low, high = np.quantile(kept, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(point, float(low), float(high))
