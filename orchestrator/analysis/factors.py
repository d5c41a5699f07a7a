"""Days, nodes and hours of the day as factors crossed with tasks: what part of the variance each of them brings."""

from collections.abc import Iterator

import numpy as np

from orchestrator.analysis.cells import ARM_KEYS
from orchestrator.analysis.context import Settings
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.tables import ArmName, FactorRow
from orchestrator.stats.crossed import crossed
from orchestrator.stats.days import two_way_clustered


def factor_rows(runs: Grouped, hours: Grouped, settings: Settings) -> Iterator[FactorRow]:
    """From trials with their day and node, and with their hour of the day: for each factor the variance parts of task,
    factor, their interaction and repeats, and the mean by the crossed model and with two-way clustered errors.

    A factor with one level has a row that says what is missing.
    """
    by_hour = dict(hours.groups(ARM_KEYS))
    for arm, part in runs.groups(ARM_KEYS):
        name = ArmName(*(str(value) for value in arm))
        for factor, counts in (("day", part), ("node", part), ("hour", by_hour.get(arm))):
            if counts is not None:
                yield from _factor(name, factor, _known(counts, factor), settings)


def _known(counts: Grouped, factor: str) -> Grouped:
    return counts.where(counts.keys[factor].mask(lambda value: value is not None) & (counts.measure("n") > 0))


def _factor(name: ArmName, factor: str, counts: Grouped, settings: Settings) -> Iterator[FactorRow]:
    levels = len(counts.keys[factor].present())
    if levels < 2:
        told = "no" if not levels else "a single"
        why = f"{told.capitalize()} {factor} is known of these trials: its part of the variance needs 2."
        yield FactorRow(name, factor, levels, "mean", None, None, None, why, "")
        return
    n, c = _grid(counts, factor)
    found = crossed(n, c, level=settings.level, factor=factor)
    about = found.estimand.sentence()
    if found.mean is None or found.mean.value is None:
        yield FactorRow(name, factor, levels, "mean", None, None, None, found.reason, about)
    else:
        mean, kind = found.mean, f"mean over tasks and {factor}s like these"
        note = "; ".join(filter(None, [found.note, mean.reason or mean.note]))
        yield FactorRow(name, factor, levels, kind, mean.value, mean.low, mean.high, note, about)
        for one in found.parts:
            kind = f"variance: {one.name}"
            yield FactorRow(name, factor, levels, kind, one.value, one.low, one.high, one.reason, about)
        claim = found.p_reason or f"F test of a {factor} effect"
        yield FactorRow(name, factor, levels, f"p of a {factor} effect", found.p, None, None, claim, about)
    both = two_way_clustered(n, c, level=settings.level, factor=factor).interval
    kind, about = f"mean, clustered by task and {factor}", both.estimand.sentence()
    yield FactorRow(name, factor, levels, kind, both.value, both.low, both.high, both.reason or both.note, about)


def _grid(part: Grouped, factor: str) -> tuple[np.ndarray, np.ndarray]:
    by = part.regroup(["task", factor])
    _, row = np.unique(by.keys["task"].codes, return_inverse=True)
    _, column = np.unique(by.keys[factor].codes, return_inverse=True)
    n = np.zeros((row.max() + 1, column.max() + 1), dtype=np.int64)
    c = np.zeros_like(n)
    n[row, column], c[row, column] = by.measure("n"), by.measure("c")
    return n, c
