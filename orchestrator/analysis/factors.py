"""Days and nodes as factors crossed with tasks: the parts of the variance that a machine or a day brings."""

from collections.abc import Iterator

import numpy as np

from orchestrator.analysis.cells import ARM_KEYS
from orchestrator.analysis.context import Settings
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.tables import ArmName, FactorRow
from orchestrator.stats.crossed import crossed


def factor_rows(runs: Grouped, settings: Settings) -> Iterator[FactorRow]:
    """From trials with their day and node: variance parts of task, factor, their interaction and repeats, for days and for nodes, with intervals."""
    for arm, part in runs.groups(ARM_KEYS):
        name = ArmName(*(str(value) for value in arm))
        for factor in ("day", "node"):
            levels = len([value for value in part.keys[factor].present() if value is not None])
            if levels < 2:
                continue
            n, c = _grid(part.where(part.keys[factor].mask(lambda value: value is not None)), factor)
            found = crossed(n, c, level=settings.level, factor=factor)
            if found.mean is None or found.mean.value is None:
                yield FactorRow(name, factor, levels, "mean", None, None, None, found.reason)
                continue
            mean = found.mean
            note = "; ".join(filter(None, [found.note, mean.reason or mean.note]))
            yield FactorRow(
                name, factor, levels, f"mean over tasks and {factor}s like these", mean.value, mean.low, mean.high, note
            )
            for one in found.parts:
                yield FactorRow(name, factor, levels, f"variance: {one.name}", one.value, one.low, one.high, one.reason)
            claim = found.p_reason or f"F test of a {factor} effect"
            yield FactorRow(name, factor, levels, f"p of a {factor} effect", found.p, None, None, claim)


def _grid(part: Grouped, factor: str) -> tuple[np.ndarray, np.ndarray]:
    by = part.regroup(["task", factor])
    _, row = np.unique(by.keys["task"].codes, return_inverse=True)
    _, column = np.unique(by.keys[factor].codes, return_inverse=True)
    n = np.zeros((row.max() + 1, column.max() + 1), dtype=np.int64)
    c = np.zeros_like(n)
    n[row, column], c[row, column] = by.measure("n"), by.measure("c")
    return n, c
