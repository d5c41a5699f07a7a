"""Does a judge treat arms alike: equal error rates, the gap between arms as it sees it, and scores set right."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.arms import number
from orchestrator.analysis.cells import ARM_KEYS
from orchestrator.analysis.context import Settings
from orchestrator.analysis.estimand import Estimand, Number, undefined
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.judging import Verdicts, judged_estimand
from orchestrator.analysis.resource_effects import points
from orchestrator.analysis.tables import ArmName, EffectRow
from orchestrator.stats.corrected import rogan_gladen
from orchestrator.stats.judge_arms import equal_treatment, gap_seen

if TYPE_CHECKING:
    from orchestrator.analysis.summary import Loaded

Whole = NDArray[np.int64]
Trials = tuple[Whole, Whole, Whole]
# Draws of the shuffle test (shuffles x tasks x arms); pairs whose gap is looked at, fewer with many tasks.
_DRAWS = 4e6
_PAIRS = 10
_PAIRED_TASKS = 1_000


def judge_effects(judged: Grouped, loaded: "Loaded", settings: Settings) -> Iterator[EffectRow]:
    """For each suite and judge version over its arms."""
    for (suite, version), part in judged.groups(["suite", "judge_version"]):
        arms = {ArmName(*(str(value) for value in key)): Verdicts.of(one) for key, one in part.groups(ARM_KEYS)}
        places = {task: at for at, task in enumerate(sorted({task for found in arms.values() for task in found.tasks}))}
        trials = {arm: found.trials(places) for arm, found in arms.items()}
        arms = {arm: found for arm, found in arms.items() if len(trials[arm][0])}
        trials = {arm: trials[arm] for arm in arms}
        if len(arms) < 2:
            continue
        about = judged_estimand(part, next(iter(arms)), loaded, settings)
        about = replace(about, resources=", ".join(dict.fromkeys(arm.resources for arm in arms)))
        yield from _treatment(str(suite), str(version), trials, about, settings)
        yield from _gaps(str(suite), str(version), trials, about, settings)
        yield from _corrected(str(suite), str(version), arms, about, settings)


def _treatment(
    suite: str, version: str, arms: Mapping[ArmName, Trials], about: Estimand, settings: Settings
) -> Iterator[EffectRow]:
    judge, tests, task = (np.concatenate([one[at] for one in arms.values()]) for at in range(3))
    label = np.repeat(np.arange(len(arms)), [len(one[0]) for one in arms.values()])
    tasks = len(np.unique(task))
    shuffles = int(np.clip(_DRAWS / (tasks * len(arms)), 199, 2_000))
    rng = settings.rng("equal treatment", suite, version)
    for found in equal_treatment(judge, tests, task, label, rng=rng, shuffles=shuffles):
        rates = [rate for rate in found.rates if rate is not None]
        spread = max(rates) - min(rates) if rates else None
        told = (
            undefined((found.reason or "no trial can tell").rstrip("."))
            if spread is None or found.p is None
            else Number(spread, method=f"{found.shuffles:,} shuffles within tasks", interval_reason="a test alone")
        )
        unequal = found.p is not None and found.p < 1 - settings.level
        verdict = "arms are judged differently" if unequal else "undecided"
        size = "cannot be tested" if found.p is None else f"range {100 * (spread or 0):.1f} points, p = {found.p:.3g}"
        yield EffectRow(
            suite, "all arms", f"equal {found.measure}, {version}", told, found.p, None, verdict,
            replace(about, statistic=f"range of {found.measure} over arms"),
            f"{found.measure.capitalize()} of {version} over {len(arms)} arms: {size}"
            f" ({found.shuffles:,} shuffles within tasks): {verdict}.",
        )  # fmt: skip


def _gaps(
    suite: str, version: str, arms: Mapping[ArmName, Trials], about: Estimand, settings: Settings
) -> Iterator[EffectRow]:
    """The best arm by the tests against the next ones: how far the judge moves each gap."""
    rates = {arm: float(found[1].mean()) for arm, found in arms.items()}
    best, *others = sorted(arms, key=lambda arm: (-rates[arm], arm.label))
    tasks = max(len(np.unique(found[2])) for found in arms.values())
    for other in others[: int(np.clip(_PAIRED_TASKS / tasks, 2, _PAIRS))]:
        shared = np.intersect1d(arms[best][2], arms[other][2])
        if not len(shared):
            continue
        sides = [_on(arms[arm], shared) for arm in (best, other)]
        judge, tests, task = (np.concatenate([side[at] for side in sides]) for at in range(3))
        side = np.repeat([0, 1], [len(one[0]) for one in sides])
        rng = settings.rng("gap seen", suite, version, best.label, other.label)
        found = gap_seen(judge, tests, task, side, rng=rng, level=settings.level)
        moved = found.moved.difference
        told = number(moved, "CR2 with t, paired by task") if moved else undefined(found.moved.reason or "undefined")
        p = found.moved.test.p if found.moved.test else None
        seen, real = (one.difference.value if one.difference else None for one in (found.by_judge, found.by_truth))
        verdict = "the judge moves the gap" if p is not None and p < 1 - settings.level else "undecided"
        yield EffectRow(
            suite, f"{other.label} less {best.label}", f"gap moved by the judge, {version}", told, p, None, verdict,
            replace(about, statistic="gap by the judge less gap by the tests"),
            f"{other.label} less {best.label}: {100 * (seen or 0):+.1f} points by the judge and "
            f"{100 * (real or 0):+.1f} by the tests, moved by {points(told)}: {verdict}.",
        )  # fmt: skip


def _on(found: Trials, tasks: Whole) -> Trials:
    judge, tests, task = found
    keep = np.isin(task, tasks)
    return judge[keep], tests[keep], task[keep]


def _corrected(
    suite: str, version: str, arms: Mapping[ArmName, Verdicts], about: Estimand, settings: Settings
) -> Iterator[EffectRow]:
    """Each arm's judged score set right by the judge's error rates on the other arms, the tests' score beside it."""
    counts = {
        arm: [int(kind.sum()) for kind in (found.both, found.judge_only, found.tests_only, found.neither)]
        for arm, found in arms.items()
    }
    whole = np.sum(list(counts.values()), axis=0)
    for arm, (both, alone, missed, neither) in counts.items():
        rest = (whole - np.array([both, alone, missed, neither])).tolist()
        trials = both + alone + missed + neither
        found = rogan_gladen(
            (both + alone, trials), (rest[0], rest[0] + rest[2]), (rest[3], rest[1] + rest[3]), level=settings.level
        )
        told = number(found, "Rogan-Gladen, delta method")
        score = (both + missed) / trials
        size = "cannot be given" if told.estimate is None else f"{100 * told.estimate:.1f}%"
        yield EffectRow(
            suite, arm.label, f"judged score set right, {version}", told, None, None, "",
            replace(
                about, statistic="pass@1 from the judge (Rogan-Gladen)", unit="trial", population="these exact tasks",
                resources=arm.resources,
            ),
            f"{arm.label}: the judge says {100 * (both + alone) / trials:.1f}%, set right by its error rates on the "
            f"other arms {size}, and the tests say {100 * score:.1f}%.",
        )  # fmt: skip
