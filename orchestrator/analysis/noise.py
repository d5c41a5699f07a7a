"""What the noise study found: failure rates of the reference solution, the neutral band, the noise floor.

The oracle knows the answer, so whatever keeps it from passing is the machine's doing, or the task's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.floors import ORACLE, failures, oracle_floors
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.summary import load_cells
from orchestrator.core.status import Status
from orchestrator.stats.equivalence import tost
from orchestrator.stats.resources import setting_rates
from orchestrator.stats.sample import Interval

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SettingNoise:
    """The oracle under one setting; failure_rate with its task-clustered 95% interval; None: undefined."""

    name: str
    trials: int
    tasks: int
    failure_rate: float | None
    low: float | None
    high: float | None
    oom: int
    other: int


@dataclass(frozen=True, slots=True)
class NoiseFindings:
    """floor_points: gaps between arms below it are marked in comparisons; None where it was not measured."""

    settings: tuple[SettingNoise, ...]
    floor_points: float | None
    sentences: tuple[str, ...]


def noise_findings(location: str, margin: float, agent: str = ORACLE) -> NoiseFindings:
    """From the final rows of the oracle, strict rule: everything that did not pass is a failure."""
    loaded = load_cells([location])
    cells = loaded.cells.where(loaded.cells.keys["agent"].mask(lambda value: value == agent))
    by = {str(name): part.regroup(["task"]) for (name,), part in cells.groups(["resources"])}
    tightness = _tightness(loaded.profiles)
    names = sorted(by, key=lambda name: tightness[name])
    tasks = sorted({str(task) for part in by.values() for task in part.keys["task"].decode()})
    n, failed = np.zeros((2, len(names), len(tasks)), dtype=np.int64)
    for row, name in enumerate(names):
        at = [tasks.index(str(task)) for task in by[name].keys["task"].decode()]
        n[row, at], failed[row, at] = failures(by[name])
    if not names or (n == 0).any():
        return NoiseFindings((), None, ("some task has no trial under some setting; run the study to its end",))
    rates = setting_rates(n, failed)
    settings = tuple(_setting(name, by[name], rates[i], n[i], failed[i]) for i, name in enumerate(names))
    floors = (
        [found.high for found in oracle_floors(cells).values() if found.high is not None] if agent == ORACLE else []
    )
    floor = 100 * max(floors) if floors else None
    return NoiseFindings(settings, floor, _sentences(names, n, failed, margin, floor))


def _tightness(profiles: Grouped) -> dict[str, float]:
    """How many times the promise each setting allows; infinite where nothing is capped."""
    found = {}
    for name, word in zip(profiles.keys["resources"].decode(), profiles.keys["headroom"].decode(), strict=True):
        found[str(name)] = np.inf if word in (None, "uncapped", "absolute") else float(str(word))
    return found


def _setting(name: str, by_task: Grouped, rate: Interval, n: Ints, failed: Ints) -> SettingNoise:
    oom = int(by_task.measure(f"trials_{Status.OUT_OF_MEMORY}").sum())
    return SettingNoise(name, int(n.sum()), len(n), rate.value, rate.low, rate.high, oom, int(failed.sum()) - oom)


def _sentences(names: list[str], n: Ints, failed: Ints, margin: float, floor: float | None) -> tuple[str, ...]:
    """What is neutral, and what a gap must exceed."""
    rate = failed / n
    widest = max(
        (100 * float(abs((rate[i] - rate[j]).mean())) for i in range(len(names)) for j in range(i)), default=0.0
    )
    sentences = []
    for i in range(len(names) - 1):
        found = tost(rate[i] - rate[-1], margin, n=np.minimum(n[i], n[-1]), statistic="failure rate")
        if found.verdict == "equivalent":
            words = f"neutral at a margin of {100 * margin:g} points"
        elif found.verdict is None:
            words = f"not decided ({(found.reason or 'no reason is known').rstrip('.')})"
        else:
            words = f"not shown to be neutral at a margin of {100 * margin:g} points ({found.verdict})"
        sentences.append(f"{names[i]} against {names[-1]}: {words}.")
    told = f"Between these settings the machine alone moved this suite's score by {widest:.1f} points"
    if floor is not None:
        told += (
            f"; the reference solution may fail in up to {floor:.1f}% of trials (upper end of its interval), and"
            " comparisons mark smaller gaps as below the noise floor"
        )
    return (*sentences, f"{told}.")
