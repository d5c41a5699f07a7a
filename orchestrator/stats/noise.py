"""How large a gap infrastructure alone can make: the failure rate of the reference solution.

With the reference solution as the agent every failure is the machine's. Source: Anthropic 2026, *Quantifying
infrastructure noise in agentic coding evals*.
"""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from orchestrator.stats.intervals import clopper_pearson
from orchestrator.stats.sample import THESE_TASKS, Interval, describe, whole


def noise_floor(n: ArrayLike, failures: ArrayLike, *, level: float = 0.95) -> tuple[Interval, ...]:
    """Failure rate of the reference solution per group (setting, day or node), where every failure is infrastructure.

    n [G], failures [G]; Clopper-Pearson over trials, for these exact tasks. None with a reason without a trial.

    >>> [round(v, 4) for v in (lambda r: (r.value, r.low, r.high))(noise_floor([200], [4])[0])]
    [0.02, 0.0055, 0.0504]
    """
    trials, failed = whole(n, "n"), whole(failures, "failures")
    if trials.shape != failed.shape or bool((failed > trials).any()):
        raise ValueError("Each group needs failures within its trials.")
    found = []
    for size, bad in zip(trials.tolist(), failed.tolist(), strict=True):
        about = describe("oracle failure rate", [size], unit="trial", population=THESE_TASKS, method="Clopper-Pearson")
        if size == 0:
            found.append(Interval(None, None, None, level, about, reason="The reference solution was not run here."))
            continue
        found.append(Interval(bad / size, *clopper_pearson(bad, size, level), level, about))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class FloorCheck:
    """Whether a gap between arms is smaller than what infrastructure alone can make; None with a reason."""

    below: bool | None
    floor: float | None
    reason: str | None = None


def below_noise_floor(gap: float, *floors: Interval) -> FloorCheck:
    """Compare |gap| with the greatest upper end of the oracle failure rates under which the arms ran.

    >>> below_noise_floor(0.03, *noise_floor([200], [4])).below
    True
    """
    ends = [floor.high for floor in floors if floor.high is not None]
    if not ends or len(ends) < len(floors):
        return FloorCheck(None, None, "The reference solution was not run under every setting compared.")
    return FloorCheck(abs(gap) < max(ends), max(ends))
