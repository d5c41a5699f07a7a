"""What the noise study found: failure rates of the reference solution, the neutral band, the noise floor.

The oracle knows the answer, so whatever keeps it from passing is the machine's doing, or the task's.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.status import Status
from orchestrator.stats.equivalence import tost
from orchestrator.stats.resources import setting_rates
from orchestrator.stats.sample import Interval
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root

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
    settings: tuple[SettingNoise, ...]
    floor_points: float | None
    sentences: tuple[str, ...]


def noise_findings(location: str, margin: float, agent: str = "oracle") -> NoiseFindings:
    """From the final rows of the oracle, strict rule: everything that did not pass is a failure."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    tightness: dict[str, float] = {}
    for table in scan(Root(location), ("agent", "resources", "task", "status", "final", "headroom")):
        for row in table.to_pylist():
            if row["agent"] == agent and row["final"]:
                counts[row["resources"]][row["task"]][row["status"]] += 1
                word = row["headroom"]
                tightness[row["resources"]] = float("inf") if word in (None, "uncapped", "absolute") else float(word)
    names = sorted(counts, key=lambda name: tightness[name])
    tasks = sorted({task for name in names for task in counts[name]})
    n = np.array([[sum(counts[s][t].values()) for t in tasks] for s in names], dtype=np.int64)
    failed = n - np.array([[counts[s][t][Status.PASSED.value] for t in tasks] for s in names], dtype=np.int64)
    if not names or (n == 0).any():
        return NoiseFindings((), None, ("some task has no trial under some setting; run the study to its end",))
    rates = setting_rates(n, failed)
    settings = tuple(_setting(name, counts[name], rates[i], n[i], failed[i]) for i, name in enumerate(names))
    return NoiseFindings(settings, *_judge(names, n, failed, margin))


def _setting(name: str, by_task: Mapping[str, Counter[str]], rate: Interval, n: Ints, failed: Ints) -> SettingNoise:
    oom = sum(c[Status.OUT_OF_MEMORY.value] for c in by_task.values())
    return SettingNoise(name, int(n.sum()), len(n), rate.value, rate.low, rate.high, oom, int(failed.sum()) - oom)


def _judge(names: list[str], n: Ints, failed: Ints, margin: float) -> tuple[float, tuple[str, ...]]:
    """The noise floor in points, and sentences: what is neutral, and what a gap must exceed."""
    rate = failed / n
    widest = tuple(100 * float(abs((rate[i] - rate[j]).mean())) for i in range(len(names)) for j in range(i))
    floor = max(widest, default=0.0)
    sentences = []
    for i in range(len(names) - 1):
        found = tost(rate[i] - rate[-1], margin, n=np.minimum(n[i], n[-1]), statistic="failure rate")
        if found.verdict == "equivalent":
            words = f"neutral at a margin of {100 * margin:g} points"
        elif found.verdict is None:
            words = f"not decided ({found.reason})"
        else:
            words = f"not shown to be neutral at a margin of {100 * margin:g} points ({found.verdict})"
        sentences.append(f"{names[i]} against {names[-1]}: {words}.")
    sentences.append(
        f"Between these settings the machine alone moves this suite's score by up to {floor:.1f} points:"
        " two entries under different settings must differ by more before it means anything here."
    )
    return floor, tuple(sentences)
