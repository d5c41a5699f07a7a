"""A judge against what is known, per arm: brings pairs into the arrays that orchestrator.stats works on.

`known` are verdicts of tests or of people. Intervals are over task clusters, as attempts of one are alike.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from orchestrator.stats.drift import JudgeNoise, judge_noise
from orchestrator.stats.judge_arms import EqualTreatment, JudgeGap, equal_treatment, gap_seen
from orchestrator.stats.judges import Agreement, agreement


@dataclass(frozen=True, slots=True)
class Pair:
    """One attempt: what the judge says and what is known. `unit` is the task cluster."""

    arm: str
    unit: str
    judge: bool
    known: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """Each arm by name; whether the judge errs alike on all of them; and, with two arms, the gap it sees.

    `equal` (sensitivity, specificity) is empty below two arms. `gap` is None but for two arms, over the
    clusters that both have.
    """

    arms: tuple[tuple[str, Agreement], ...]
    equal: tuple[EqualTreatment, ...] = ()
    gap: JudgeGap | None = None


@dataclass(frozen=True, slots=True)
class Repeatability:
    """A judge against itself: attempts graded twice, how many of the grades changed, and the noise that this shows."""

    attempts: int
    changed: int
    noise: JudgeNoise


def repeatability(twice: Iterable[tuple[str, float, float]]) -> Repeatability | None:
    """From (task cluster, first score, second score) of each attempt, 0 to 1; None where nothing was graded twice."""
    listed = sorted(twice)
    if not listed:
        return None
    units, first, second = zip(*listed, strict=True)
    changed = sum(a != b for a, b in zip(first, second, strict=True))
    return Repeatability(len(listed), changed, judge_noise(first, second, units))


def calibrate(pairs: Iterable[Pair], seed: int = 0) -> Calibration:
    """The same pairs and seed give the same numbers."""
    listed = sorted(pairs, key=lambda p: (p.arm, p.unit))
    names = sorted({pair.arm for pair in listed})
    arms = tuple((name, agreement(*_arrays([p for p in listed if p.arm == name]))) for name in names)
    if len(names) < 2:
        return Calibration(arms)
    rng = np.random.default_rng(seed)
    side = np.array([names.index(pair.arm) for pair in listed])
    return Calibration(arms, equal_treatment(*_arrays(listed), side, rng=rng), _gap(listed, names, rng))


def _gap(pairs: list[Pair], names: list[str], rng: np.random.Generator) -> JudgeGap | None:
    if len(names) != 2:
        return None
    shared = set.intersection(*({p.unit for p in pairs if p.arm == name} for name in names))
    both = [pair for pair in pairs if pair.unit in shared]
    if len(shared) < 2:
        return None
    return gap_seen(*_arrays(both), np.array([names.index(pair.arm) for pair in both]), rng=rng)


def _arrays(pairs: list[Pair]) -> tuple[list[int], list[int], list[str]]:
    return [int(p.judge) for p in pairs], [int(p.known) for p in pairs], [p.unit for p in pairs]
