"""Arms under conditions: resource settings and scoring rules, and days."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orchestrator.analysis.arms import number
from orchestrator.analysis.cells import STATUSES, passes, planned, trials
from orchestrator.analysis.context import Policies, Settings, SuiteCells, estimand
from orchestrator.analysis.estimand import Number, undefined
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.tables import DayRow, ResourceRow
from orchestrator.core.status import Origin, ScoringRule
from orchestrator.stats.intervals import korn_graubard, mean_interval


def resource_rows(suite: SuiteCells, policies: Policies, settings: Settings) -> Iterator[ResourceRow]:
    """For each arm: the score under all three scoring rules with bounds, infrastructure failures and OOM kills."""
    for column, arm in enumerate(suite.arms):
        by_task = suite.by_task[column]
        every = planned(by_task)
        whole = int(every.sum())
        won = passes(by_task)
        missing = whole - int(trials(by_task, ScoringRule.DEFAULT).sum())
        bounds: tuple[float | None, float | None] = (
            (float(won.sum() / whole), float((won.sum() + missing) / whole)) if whole else (None, None)
        )
        for rule in ScoringRule:
            n = trials(by_task, rule)
            about = estimand("pass@1", suite, column, policies, replace(settings, rule=rule), k=1)
            found = _rate(suite, by_task.keys["task"].decode(), won, n, settings)
            yield ResourceRow(arm, "score", str(rule), found, int(n.sum()), int(won.sum()), bounds[0], bounds[1], about)
        about = estimand("infrastructure failures per attempt", suite, column, policies, settings)
        attempts, failed = by_task.measure("attempts"), by_task.measure("attempts_infrastructure")
        found = _rate(suite, by_task.keys["task"].decode(), failed, attempts, settings)
        yield ResourceRow(
            arm,
            "infrastructure failures",
            "all attempts",
            found,
            int(attempts.sum()),
            int(failed.sum()),
            None,
            None,
            about,
        )
        killed = np.sum([by_task.measure(f"trials_{s}") for s in STATUSES if s.origin is Origin.RESOURCES], axis=0)
        for quantity, count in (("ended by resources", killed), ("with an OOM kill", by_task.measure("oom"))):
            about = estimand(f"trials {quantity}", suite, column, policies, settings)
            found = _rate(suite, by_task.keys["task"].decode(), count, every, settings)
            yield ResourceRow(arm, quantity, "all trials", found, whole, int(count.sum()), None, None, about)


def _rate(suite: SuiteCells, tasks: list[object], count: np.ndarray, n: np.ndarray, settings: Settings) -> Number:
    """A rate averaged over tasks with Korn and Graubard's interval."""
    has = n > 0
    if not has.any():
        return undefined("no trial counts under this rule")
    cluster = None
    if suite.clusters is not None:
        of_task = dict(zip(suite.tasks, suite.clusters.tolist(), strict=True))
        cluster = np.array([of_task[str(task)] for task in tasks])[has]
    return number(korn_graubard(count[has] / n[has], n=n[has], cluster=cluster, level=settings.level), "Korn-Graubard")


def day_rows(suite: SuiteCells, policies: Policies, settings: Settings) -> Iterator[DayRow]:
    """The score of each arm on each day, over the tasks that have a verdict on every day."""
    for column, arm in enumerate(suite.arms):
        cells = suite.cells[column]
        by_day = cells.regroup(["day", "wave", "task"])
        n, c = trials(by_day, settings.rule), passes(by_day)
        keys = list(zip(by_day.keys["day"].codes.tolist(), by_day.keys["wave"].codes.tolist(), strict=True))
        slots = sorted(set(keys))
        place = {slot: index for index, slot in enumerate(slots)}
        _, row = np.unique(by_day.keys["task"].codes, return_inverse=True)
        column_of = np.array([place[key] for key in keys])
        counts, wins = np.zeros((row.max() + 1, len(slots))), np.zeros((row.max() + 1, len(slots)))
        counts[row, column_of], wins[row, column_of] = n, c
        complete = (counts > 0).all(axis=1)
        about = estimand("pass@1 on the tasks of every day", suite, column, policies, settings, k=1)
        about = replace(about, tasks=int(complete.sum()))
        for slot in slots:
            at = place[slot]
            if complete.any():
                n_day = counts[complete, at]
                about_day = replace(
                    about, n_min=int(n_day.min()), n_median=float(np.median(n_day)), n_max=int(n_day.max())
                )
                clusters = _day_clusters(suite, by_day, np.asarray(complete))
                rates = wins[complete, at] / n_day
                found = number(mean_interval(rates, n=n_day, cluster=clusters, level=settings.level), "CR2 with t")
            else:
                about_day, found = about, undefined("no task has a verdict on every day")
            yield DayRow(
                arm,
                str(by_day.keys["day"].values[slot[0]]),
                int(str(by_day.keys["wave"].values[slot[1]])),
                found,
                about_day,
            )


def _day_clusters(suite: SuiteCells, by_day: Grouped, complete: np.ndarray) -> np.ndarray | None:
    if suite.clusters is None:
        return None
    tasks = by_day.keys["task"]
    of_task = dict(zip(suite.tasks, suite.clusters.tolist(), strict=True))
    names = [of_task[str(tasks.values[code])] for code in np.unique(tasks.codes)]
    return np.asarray(np.array(names)[complete])
