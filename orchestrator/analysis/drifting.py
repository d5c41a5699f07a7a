"""Has a frozen agent changed: later waves against the first on the same tasks, and the frozen lane against the live one."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orchestrator.analysis.arms import number
from orchestrator.analysis.cells import passes, trials
from orchestrator.analysis.context import Floats, Policies, Settings, SuiteCells, Whole, estimand
from orchestrator.analysis.estimand import Estimand, undefined
from orchestrator.analysis.resource_effects import points
from orchestrator.analysis.tables import EffectRow
from orchestrator.stats.drift import Wave, drift, lanes_apart

Waves = dict[int, tuple[Whole, Whole]]


def drift_rows(suite: SuiteCells, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    """Every arm with 2 waves or more, then every agent that ran in both lanes."""
    waves = [_waves(suite, column, settings) for column in range(len(suite.arms))]
    for column in range(len(suite.arms)):
        yield from _drift(suite, column, waves[column], policies, settings)
    place = {(arm.agent, arm.resources, arm.lane): i for i, arm in enumerate(suite.arms)}
    for (agent, resources, lane), live in place.items():
        frozen = place.get((agent, resources, "frozen"))
        if lane == "live" and frozen is not None:
            yield from _lanes(suite, (frozen, live), (waves[frozen], waves[live]), policies, settings)


def _waves(suite: SuiteCells, column: int, settings: Settings) -> Waves:
    """n and c [task] of each wave of an arm, tasks as in the suite."""
    by = suite.cells[column].regroup(["wave", "task"])
    place = {task: index for index, task in enumerate(suite.tasks)}
    row = np.array([place[str(task)] for task in by.keys["task"].decode()])
    wave = np.array([int(str(value)) for value in by.keys["wave"].decode()])
    n, c = trials(by, settings.rule), passes(by)
    found: Waves = {}
    for at in sorted(set(wave.tolist())):
        size, won = np.zeros(len(suite.tasks), dtype=np.int64), np.zeros(len(suite.tasks), dtype=np.int64)
        size[row[wave == at]], won[row[wave == at]] = n[wave == at], c[wave == at]
        if size.any():
            found[at] = (size, won)
    return found


def _drift(suite: SuiteCells, column: int, waves: Waves, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    order = sorted(waves)
    if len(order) < 2:
        return
    label = suite.arms[column].label
    versions = _versions(suite, column)
    same = [wave for wave in order if versions.get(wave) == versions.get(order[0])]
    for wave in sorted(set(order) - set(same)):
        why = "it was graded by another version of the judge than the first wave"
        yield EffectRow(
            suite.suite, label, f"wave {wave} less wave {order[0]}", undefined(why), None, None, "not compared",
            estimand("drift of pass@1", suite, column, policies, settings, k=1),
            f"{label}: wave {wave} is not compared, because {why}.",
        )  # fmt: skip
    has = np.all([waves[wave][0] > 0 for wave in same], axis=0)
    if len(same) < 2 or not has.any():
        return
    rates: list[Floats] = [waves[wave][1][has] / waves[wave][0][has] for wave in same]
    n = np.min([waves[wave][0][has] for wave in same], axis=0)
    about = _about("drift of pass@1", suite, column, n, policies, settings)
    found = drift(
        rates[0], rates[1:], cluster=suite.cluster_of(has), n=n, alpha=1 - settings.level, horizon=settings.horizon
    )
    for wave, one in zip(same[1:], found.waves, strict=True):
        yield _row(suite.suite, label, f"wave {wave} less wave {same[0]}", one, about, "drift", found.method)


def _lanes(
    suite: SuiteCells, columns: tuple[int, int], waves: tuple[Waves, Waves], policies: Policies, settings: Settings
) -> Iterator[EffectRow]:
    both = sorted(set(waves[0]) & set(waves[1]))
    if not both:
        return
    has = np.all([lane[wave][0] > 0 for wave in both for lane in waves], axis=0)
    if not has.any():
        return
    frozen, live = ([lane[wave][1][has] / lane[wave][0][has] for wave in both] for lane in waves)
    n = np.min([lane[wave][0][has] for wave in both for lane in waves], axis=0)
    about = _about("live less frozen lane in pass@1", suite, columns[1], n, policies, settings)
    found = lanes_apart(
        frozen, live, cluster=suite.cluster_of(has), n=n, alpha=1 - settings.level, horizon=settings.horizon
    )
    label = suite.arms[columns[1]].label
    for wave, one in zip(both, found.drift.waves, strict=True):
        quantity = f"live less frozen, wave {wave}"
        row = _row(suite.suite, label, quantity, one, about, "lanes part", found.drift.method)
        if one.alarm:
            row = replace(row, sentence=row.sentence + " Refresh the suite.")
        yield row


def _row(suite: str, label: str, quantity: str, one: Wave, about: Estimand, alarm: str, method: str) -> EffectRow:
    told = number(one.difference, f"CR2 with t, level of its share of alpha ({method})")
    verdict = "undecided" if one.alarm is None else f"alarm: {alarm}" if one.alarm else "no alarm"
    test = "" if one.p is None else f", p = {one.p:.3g} against its share {one.spent:.3g} of the error"
    return EffectRow(
        suite, label, quantity, told, one.p, None, verdict, about,
        f"{label}: {quantity} in pass@1 over {about.tasks} tasks, {points(told)}{test}: {verdict}.",
    )  # fmt: skip


def _about(
    statistic: str, suite: SuiteCells, column: int, n: Whole, policies: Policies, settings: Settings
) -> Estimand:
    return replace(
        estimand(statistic, suite, column, policies, settings, k=1), tasks=len(n), n_min=int(n.min()),
        n_median=float(np.median(n)), n_max=int(n.max()),
    )  # fmt: skip


def _versions(suite: SuiteCells, column: int) -> dict[int, frozenset[str]]:
    """The versions of the judge that each wave was graded by; none where tests alone grade."""
    by = suite.cells[column].regroup(["wave", "judge_version"])
    found: dict[int, set[str]] = {}
    for wave, version in zip(by.keys["wave"].decode(), by.keys["judge_version"].decode(), strict=True):
        found.setdefault(int(str(wave)), set()).update([] if version is None else [str(version)])
    return {wave: frozenset(values) for wave, values in found.items()}
