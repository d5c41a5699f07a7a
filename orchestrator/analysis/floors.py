"""The noise floor: how often the reference solution fails, which is what machines alone do to scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from orchestrator.analysis.arms import number
from orchestrator.analysis.cells import ARM_KEYS, STATUSES, passes
from orchestrator.analysis.context import Policies, Settings, SuiteCells, estimand
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.tables import EffectRow
from orchestrator.core.status import ScoringRule
from orchestrator.stats.noise import below_noise_floor, noise_floor
from orchestrator.stats.sample import Interval

ORACLE = "oracle"
Floors = Mapping[tuple[str, str], Interval]


def oracle_floors(cells: Grouped, level: float = 0.95) -> Floors:
    """The oracle's failure rate by (suite, resources), every trial counted; empty where the oracle was not run."""
    part = cells.where(cells.keys["agent"].mask(lambda value: value == ORACLE))
    if not len(part):
        return {}
    by = part.regroup(["suite", "resources"])
    n, failed = failures(by)
    keys = zip(by.keys["suite"].decode(), by.keys["resources"].decode(), strict=True)
    return {(str(s), str(r)): f for (s, r), f in zip(keys, noise_floor(n, failed, level=level), strict=True)}


def floor_mark(gap: float | None, suite: str, resources: Sequence[str], floors: Floors) -> str | None:
    """What to mark a difference of scores with, or None: it exceeds the floor, or no floor was measured."""
    if gap is None or not floors:
        return None
    none = next(iter(floors.values()))
    unknown = replace(none, value=None, low=None, high=None)
    found = below_noise_floor(gap, *(floors.get((suite, name), unknown) for name in resources))
    if not found.below or found.floor is None:
        return None
    return f"below the noise floor: the reference solution fails at up to {100 * found.floor:.1f}% here"


def floor_rows(suite: SuiteCells, nodes: Grouped, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    """The oracle's failure rate for each setting, and for each day and each node of it where there are several.

    nodes: n and c by arm and node, whatever the ending.
    """
    for column, arm in enumerate(suite.arms):
        if arm.agent != ORACLE:
            continue
        whole = replace(settings, rule=ScoringRule.STRICT)
        about = estimand(
            "oracle failure rate", suite, column, policies, whole, unit="trial", population="these exact tasks"
        )
        cells = suite.cells[column]
        here = dict(nodes.groups(ARM_KEYS)).get((arm.suite, arm.agent, arm.resources, arm.lane))
        counts = [(name, by, *failures(by)) for name in ("resources", "day") for by in [cells.regroup([name])]]
        if here is not None:
            here = here.where(here.keys["node"].mask(lambda value: value is not None) & (here.measure("n") > 0))
            counts.append(("node", here, here.measure("n"), here.measure("n") - here.measure("c")))
        for name, by, n, failed in counts:
            if name != "resources" and len(by) < 2:
                continue
            found = noise_floor(n, failed, level=settings.level)
            for value, interval, size, bad in zip(
                by.keys[name].decode(), found, n.tolist(), failed.tolist(), strict=True
            ):
                where = str(value) if name == "resources" else f"{arm.resources} on {value}"
                told = number(interval, "Clopper-Pearson")
                yield EffectRow(
                    suite.suite, arm.label, f"noise floor, {where}", told, None, None, "measured", about,
                    f"The reference solution fails {bad} of {size} trials under {where}: whatever it fails by is the "
                    "machine's doing or the task's.",
                )  # fmt: skip


def failures(by: Grouped) -> tuple[np.ndarray, np.ndarray]:
    """Trials of each group whatever their ending, and those that did not pass."""
    n = np.sum([by.measure(f"trials_{status}") for status in STATUSES], axis=0)
    return n, n - passes(by)
