"""Arms under conditions: resource settings and scoring rules, cost and time, days."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from orchestrator.analysis.arms import Resampled, number
from orchestrator.analysis.cells import STATUSES, passes, planned, trials
from orchestrator.analysis.context import Floats, Policies, Settings, SuiteCells, estimand
from orchestrator.analysis.estimand import Number, undefined
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.tables import CostRow, DayRow, ResourceRow
from orchestrator.analysis.usage import Spread
from orchestrator.core.status import Origin, ScoringRule
from orchestrator.stats.cost import cost_per_solved
from orchestrator.stats.intervals import korn_graubard, mean_interval


def resource_rows(suite: SuiteCells, policies: Policies, settings: Settings) -> Iterator[ResourceRow]:
    """For each arm: the score under all three scoring rules with bounds, infrastructure failures and OOM kills."""
    for column, arm in enumerate(suite.arms):
        by_task = suite.cells[column].regroup(["task"])
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


def cost_rows(
    suite: SuiteCells,
    shared: Resampled,
    usage: Mapping[tuple[object, ...], Mapping[str, Spread]],
    policies: Policies,
    settings: Settings,
) -> Iterator[CostRow]:
    """Cost per solved trial with its interval, spreads of time, turns and tokens, and the cost-accuracy frontier."""
    front = _frontier(suite, shared)
    for column, arm in enumerate(suite.arms):
        cells = suite.cells[column]
        attempts, known = int(cells.measure("attempts").sum()), int(cells.measure("cost_known").sum())
        n = int(suite.n[:, column].sum())
        total = float(suite.cost[:, column].sum()) if known else None
        about = estimand("cost per solved trial, failed attempts included", suite, column, policies, settings)
        if known < attempts:
            solved = undefined(f"the cost of {attempts - known} of {attempts} attempts is not known")
        else:
            found = cost_per_solved(
                suite.cost[:, column], suite.c[:, column], cluster=suite.clusters, level=settings.level
            )
            solved = number(found)
        spread = usage.get((arm.suite, arm.agent, arm.resources, arm.lane), {})
        s, turns, tokens = (spread.get(name, Spread(0, None, None)) for name in ("total_s", "turns", "tokens"))
        on, share = front.get(column, (None, None))
        yield CostRow(
            arm, solved, total, attempts - known, attempts, int(suite.c[:, column].sum()),
            total / n if total is not None and n and known == attempts else None,
            s.median, s.p90, turns.median, turns.p90, tokens.median, tokens.p90, on, share, about,
        )  # fmt: skip


def _frontier(suite: SuiteCells, shared: Resampled) -> dict[int, tuple[bool, float | None]]:
    """Whether no arm is both cheaper and better, and in what share of the resamples of scores that holds."""
    known = [a for a in range(len(suite.arms)) if (a, "pass@1") in shared.columns and _costs_known(suite, a)]
    if not known:
        return {}
    price = np.array([suite.cost[:, a].sum() / suite.n[:, a].sum() for a in known])
    columns = [shared.columns[a, "pass@1"] for a in known]
    points = _undominated(price, shared.run.estimates[columns][None, :])[0]
    share = _undominated(price, shared.run.replicates[:2000, columns]).mean(axis=0)
    return {a: (bool(points[i]), float(share[i])) for i, a in enumerate(known)}


def _costs_known(suite: SuiteCells, column: int) -> bool:
    cells = suite.cells[column]
    return bool(
        cells.measure("cost_known").sum() == cells.measure("attempts").sum() > 0 and suite.n[:, column].sum() > 0
    )


def _undominated(price: Floats, score: Floats) -> np.ndarray:
    order = np.lexsort((np.arange(len(price)), price))
    ahead = np.maximum.accumulate(score[:, order], axis=1)
    best_before = np.concatenate([np.full((len(score), 1), -np.inf), ahead[:, :-1]], axis=1)
    result = np.empty(score.shape, dtype=bool)
    result[:, order] = score[:, order] > best_before
    return result


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
