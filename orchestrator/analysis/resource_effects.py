"""What resource settings do to one agent: contrasts with a baseline, trend, neutrality, and where a gain comes from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from orchestrator.analysis.arms import number
from orchestrator.analysis.cells import STATUSES, passes
from orchestrator.analysis.context import Policies, Settings, SuiteCells, Whole, estimand
from orchestrator.analysis.estimand import Estimand, Number, undefined
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.tables import EffectRow
from orchestrator.core.status import Origin
from orchestrator.stats.equivalence import Equivalence
from orchestrator.stats.resources import changing_tasks, contrasts, neutral_band, split_gain, trend

# Signs flipped over all agents of a suite, and tasks of agents that are tested singly.
_FLIPPED_SIGNS = 5e7
_TESTED_TASKS = 2_000


@dataclass(frozen=True, slots=True)
class Ladder:
    """One agent under several settings, least resources first, on the tasks that have trials under each.

    n, c: [setting, task]. stepped: whether the order of the settings is known, so that a trend means something.
    """

    subject: str
    columns: tuple[int, ...]
    names: tuple[str, ...]
    stepped: bool
    tasks: tuple[str, ...]
    clusters: np.ndarray | None
    n: Whole
    c: Whole


def ladders(suite: SuiteCells, profiles: Grouped) -> Iterator[Ladder]:
    """Agents (and lanes) with 2 settings or more."""
    width = headrooms(profiles)
    for agent, lane in dict.fromkeys((arm.agent, arm.lane) for arm in suite.arms):
        columns = [i for i, arm in enumerate(suite.arms) if (arm.agent, arm.lane) == (agent, lane)]
        columns = [i for i in columns if suite.n[:, i].any()]
        columns.sort(key=lambda i: (width.get(suite.arms[i].resources, np.inf), suite.arms[i].resources))
        if len(columns) < 2:
            continue
        has = suite.with_trials(columns)
        if not has.any():
            continue
        names = tuple(suite.arms[i].resources for i in columns)
        steps = [width.get(name, np.inf) for name in names]
        stepped = all(a < b for a, b in pairwise(steps))
        yield Ladder(
            agent if lane == "live" else f"{agent} / {lane}", tuple(columns), names, stepped,
            tuple(np.array(suite.tasks)[has].tolist()), suite.cluster_of(has), suite.n[has][:, columns].T,
            suite.c[has][:, columns].T,
        )  # fmt: skip


def headrooms(profiles: Grouped) -> dict[str, float]:
    """How generous each setting is: its headroom, infinite where it is uncapped; absent where that is not known."""
    by = profiles.regroup(["resources", "headroom"])
    found: dict[str, float] = {}
    for name, word in zip(by.keys["resources"].decode(), by.keys["headroom"].decode(), strict=True):
        try:
            found[str(name)] = np.inf if word == "uncapped" else float(str(word))
        except ValueError:
            continue
    return found


def resource_effects(
    suite: SuiteCells, profiles: Grouped, policies: Policies, settings: Settings
) -> Iterator[EffectRow]:
    """All effects of settings, one agent after another."""
    found = list(ladders(suite, profiles))
    cells = max(1, len(found) * len(suite.tasks))
    flips = int(np.clip(_FLIPPED_SIGNS / cells, 1_999, settings.flips))
    settings = replace(settings, flips=min(flips, settings.flips))
    for ladder in found:
        yield from _contrasts(suite, ladder, policies, settings)
        if ladder.stepped:
            yield from _trend(suite, ladder, policies, settings)
            yield from _neutral(suite, ladder, policies, settings)
            yield from _split(suite, ladder, policies, settings)
            if cells <= _TESTED_TASKS:
                yield from _changing(suite, ladder, policies, settings)
            else:
                yield _untested(suite, ladder, policies, settings)


def _about(
    statistic: str, suite: SuiteCells, ladder: Ladder, settings: Sequence[int], policies: Policies, chosen: Settings
) -> Estimand:
    n = ladder.n[list(settings)].min(axis=0)
    return replace(
        estimand(statistic, suite, ladder.columns[settings[0]], policies, chosen),
        n_min=int(n.min()), n_median=float(np.median(n)), n_max=int(n.max()), tasks=len(n),
        resources=" against ".join(ladder.names[i] for i in settings),
    )  # fmt: skip


def _baseline(ladder: Ladder, settings: Settings) -> int:
    return ladder.names.index(settings.baseline) if settings.baseline in ladder.names else 0


def _contrasts(suite: SuiteCells, ladder: Ladder, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    base = _baseline(ladder, settings)
    found = contrasts(
        ladder.n, ladder.c, base, rng=settings.rng("settings", suite.suite, ladder.subject),
        cluster=ladder.clusters, level=settings.level, flips=settings.flips,
    )  # fmt: skip
    for one in found:
        gap = one.paired.difference
        told = number(gap, "CR2 with t, paired by task") if gap else undefined(one.paired.reason or "undefined")
        p = one.paired.test.p if one.paired.test else None
        clear = one.p_adjusted < 1 - settings.level and (told.estimate or 0) != 0
        verdict = ("higher" if (told.estimate or 0) > 0 else "lower") if clear else "undecided"
        quantity = f"{ladder.names[one.setting]} less {ladder.names[base]}"
        about = _about("difference in pass@1", suite, ladder, (one.setting, base), policies, settings)
        yield EffectRow(
            suite.suite, ladder.subject, quantity, told, p, one.p_adjusted, verdict, about,
            f"{ladder.subject}: {quantity} in pass@1, paired over {about.tasks} tasks, {points(told)}; sign-flip "
            f"p = {one.p_adjusted:.3g} after Holm over {len(found)} by {one.paired.test.flips if one.paired.test else 0:,} flips: {verdict}.",
        )  # fmt: skip


def _trend(suite: SuiteCells, ladder: Ladder, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    if len(ladder.names) < 3:
        return
    found = trend(
        ladder.n, ladder.c, rng=settings.rng("trend", suite.suite, ladder.subject), cluster=ladder.clusters,
        level=settings.level, flips=settings.flips,
    )  # fmt: skip
    told = number(found.slope, "CR2 with t")
    p = found.test.p
    clear = p is not None and p < 1 - settings.level
    verdict = ("rising" if (told.estimate or 0) > 0 else "falling") if clear else "undecided"
    about = _about("slope of pass@1 per step", suite, ladder, range(len(ladder.names)), policies, settings)
    yield EffectRow(
        suite.suite, ladder.subject, "trend over " + ", ".join(ladder.names), told, p, p, verdict, about,
        f"{ladder.subject}: per step of resources pass@1 moves by {points(told)}: {verdict}.",
    )  # fmt: skip


def _neutral(suite: SuiteCells, ladder: Ladder, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    """Each setting below the ceiling against it: from where on more resources no longer matter."""
    last = len(ladder.names) - 1
    for floor in range(last):
        found = neutral_band(
            ladder.n, ladder.c, settings.margin, floor=floor, ceiling=last, cluster=ladder.clusters,
            alpha=1 - settings.level,
        )  # fmt: skip
        told, verdict = equivalence_number(found, settings.level)
        about = _about("difference in pass@1", suite, ladder, (floor, last), policies, settings)
        words = "is neutral" if found.shown else "is not shown to be neutral"
        yield EffectRow(
            suite.suite, ladder.subject, f"neutral from {ladder.names[floor]} to {ladder.names[last]}", told,
            found.p, found.p, verdict, about,
            f"{ladder.subject}: the band from {ladder.names[floor]} to {ladder.names[last]} {words} at a margin of "
            f"{100 * settings.margin:g} points" + (f" ({found.reason.rstrip('.')})." if found.reason else "."),
        )  # fmt: skip


def equivalence_number(found: Equivalence, level: float) -> tuple[Number, str]:
    """The interval of an equivalence test, which is narrower than the usual one, and its verdict in words."""
    if found.difference is None:
        return undefined(found.reason or "undefined"), "undecided"
    covered = 1 - 2 * found.alpha
    told = Number(
        found.difference, found.low, found.high, round(covered, 6), "two one-sided t tests", None, found.reason
    )
    return told, found.verdict or "undecided"


def _split(suite: SuiteCells, ladder: Ladder, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    n, c, f = _strict(suite, ladder)
    last = len(ladder.names) - 1
    found = split_gain(n, c, f, first=0, second=last, cluster=ladder.clusters, level=settings.level)
    about = replace(_about("gain in pass@1", suite, ladder, (last, 0), policies, settings), rule="strict")
    step = f"from {ladder.names[0]} to {ladder.names[last]}"
    for quantity, part in (
        ("gain", found.gain),
        ("gain by fewer failures", found.fewer_failures),
        ("gain by more solved", found.more_solved),
    ):
        told = number(part, "linearised over tasks, CR2 with t")
        yield EffectRow(
            suite.suite, ladder.subject, f"{quantity}, {step}", told, None, None, "", about,
            f"{ladder.subject}: {quantity} {step}, every trial counted: {points(told)}.",
        )  # fmt: skip


def _strict(suite: SuiteCells, ladder: Ladder) -> tuple[Whole, Whole, Whole]:
    """Every final trial, the passes, and the trials that resources or machinery ended: [setting, task]."""
    shape = (len(ladder.columns), len(ladder.tasks))
    n, c, f = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    place = {task: at for at, task in enumerate(ladder.tasks)}
    ended = [s for s in STATUSES if s.origin in (Origin.RESOURCES, Origin.INFRASTRUCTURE)]
    for row, column in enumerate(ladder.columns):
        by = suite.by_task[column]
        at = np.array([place.get(str(task), -1) for task in by.keys["task"].decode()])
        keep = at >= 0
        n[row, at[keep]] = np.sum([by.measure(f"trials_{s}") for s in STATUSES], axis=0)[keep]
        c[row, at[keep]] = passes(by)[keep]
        f[row, at[keep]] = np.sum([by.measure(f"trials_{s}") for s in ended], axis=0)[keep]
    return n, c, f


def _untested(suite: SuiteCells, ladder: Ladder, policies: Policies, settings: Settings) -> EffectRow:
    why = f"more than {_TESTED_TASKS:,} tasks of agents were to be tested singly: select one agent"
    about = _about("change of a task's rate", suite, ladder, (len(ladder.names) - 1, 0), policies, settings)
    return EffectRow(
        suite.suite, ladder.subject, "task by task", undefined(why), None, None, "", about,
        f"{ladder.subject}: which tasks change with resources is not given, because {why}.",
    )  # fmt: skip


def _changing(suite: SuiteCells, ladder: Ladder, policies: Policies, settings: Settings) -> Iterator[EffectRow]:
    last = len(ladder.names) - 1
    about = _about("change of a task's rate", suite, ladder, (last, 0), policies, settings)
    about = replace(about, unit="trial", population="these exact tasks")
    for one in changing_tasks(ladder.n, ladder.c, first=0, second=last):
        told = Number(one.change, method="Fisher's exact test", interval_reason="a test alone")
        task = ladder.tasks[one.task]
        yield EffectRow(
            suite.suite, ladder.subject, f"task {task}", told, one.p, one.p_adjusted, "changes with resources", about,
            f"{ladder.subject}: the rate of {task} moves by {100 * one.change:+.0f} points from {ladder.names[0]} to "
            f"{ladder.names[last]} (Fisher's exact p = {one.p_adjusted:.2g} after Benjamini-Hochberg at 10%).",
        )  # fmt: skip


def points(told: Number) -> str:
    """A difference in points with its interval, in words."""
    if told.estimate is None:
        return f"undefined ({(told.reason or '').rstrip('.')})"
    if told.low is None or told.high is None:
        return f"{100 * told.estimate:+.1f} points without an interval"
    return f"{100 * told.estimate:+.1f} points ({100 * told.low:+.1f} to {100 * told.high:+.1f})"
