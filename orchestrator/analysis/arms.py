"""Arms by themselves: scores with intervals, curves over k, tasks, costs and the parts of the variance."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.analysis.cells import STATUSES
from orchestrator.analysis.context import Floats, Policies, Settings, SuiteCells, estimand
from orchestrator.analysis.estimand import Number, undefined
from orchestrator.analysis.tables import ArmRow, CurveRow, TaskRow, VarianceRow
from orchestrator.stats.bayes import hierarchical
from orchestrator.stats.bootstrap import Bootstrap, band, bootstrap, percentile
from orchestrator.stats.intervals import (
    QUOTE_BOOTSTRAP_FROM,
    korn_graubard,
    mean_interval,
    pooled_wilson,
    these_tasks_interval,
)
from orchestrator.stats.passk import task_curve
from orchestrator.stats.sample import Interval
from orchestrator.stats.variance import variance_parts

# Below so many tasks a hierarchical model stands beside the intervals.
SECOND_OPINION_BELOW = 30


@dataclass(frozen=True, slots=True)
class Resampled:
    """One bootstrap that all arms and statistics of a suite share, so that their differences are paired.

    `columns`: (arm, name) -> column, where name is pass@k or pass^k with its k, or score.
    """

    run: Bootstrap
    values: Floats
    present: Floats
    columns: dict[tuple[int, str], int]

    def part(self, columns: list[int]) -> Bootstrap:
        run = self.run
        return replace(
            run,
            estimates=run.estimates[columns],
            replicates=run.replicates[:, columns],
            jackknife=run.jackknife[:, columns],
        )


def resample(suite: SuiteCells, settings: Settings) -> Resampled:
    """Bootstrap pass@k, pass^k and the graded score of every arm with the same weights."""
    columns: dict[tuple[int, str], int] = {}
    values: list[Floats] = []
    present: list[Floats] = []

    def add(arm: int, name: str, column: Floats, there: Floats) -> None:
        columns[arm, name] = len(values)
        values.append(column)
        present.append(there)

    for arm in range(len(suite.arms)):
        has = suite.n[:, arm] > 0
        if not has.any():
            continue
        n, c = suite.n[has, arm], suite.c[has, arm]
        last = min(int(n.min()), settings.k_max)
        there = has.astype(np.float64)
        for statistic, sign in (("pass@k", "pass@"), ("pass^k", "pass^")):
            table = task_curve(n, c, last, statistic)  # type: ignore[arg-type]
            for k in range(1, last + 1):
                add(arm, f"{sign}{k}", _spread(has, table[:, k - 1]), there)
        if suite.graded:
            add(arm, "score", _spread(has, suite.score[has, arm] / n), there)
    table, there = np.column_stack(values), np.column_stack(present)
    rng = settings.rng("bootstrap", suite.suite)
    run = bootstrap(
        table,
        rng=rng,
        cluster=suite.clusters,
        replicates=settings.replicates,
        present=None if there.all() else there,
    )
    return Resampled(run, table, there, columns)


def _spread(has: np.ndarray, values: Floats) -> Floats:
    column = np.zeros(len(has))
    column[has] = values
    return column


def number(found: Interval, method: str | None = None) -> Number:
    """A statistic's interval as a number of the summary."""
    if found.value is None:
        return undefined(found.reason or "undefined")
    reason = found.reason if found.low is None else None
    return Number(found.value, found.low, found.high, found.level, method or found.estimand.method, None, reason)


def arm_rows(suite: SuiteCells, shared: Resampled, policies: Policies, settings: Settings) -> Iterator[ArmRow]:
    """pass@1, the ends of both curves and the graded score: the quoted interval first, others beside it."""
    for arm, name in enumerate(suite.arms):
        has = suite.n[:, arm] > 0
        if not has.any():
            about = estimand("pass@1", suite, arm, policies, settings, k=1)
            yield ArmRow(name, undefined("no trial has a verdict under this scoring rule"), True, about)
            continue
        last = min(int(suite.n[has, arm].min()), settings.k_max)
        ks = sorted({k for k in (*settings.quoted_ks, last) if 1 < k <= last})
        wanted = ["pass@1", *(f"pass{sign}{k}" for k in ks for sign in "@^"), *(["score"] if suite.graded else [])]
        for statistic in wanted:
            column = shared.columns[arm, statistic]
            k = None if statistic == "score" else int(statistic[5:])
            about = estimand(statistic, suite, arm, policies, settings, k=k)
            values, n = shared.values[has, column], suite.n[has, arm]
            cluster = suite.cluster_of(has)
            rate = bool(values.min() >= 0 and values.max() <= 1)
            other = (
                korn_graubard(values, n=n, cluster=cluster, level=settings.level)
                if rate
                else mean_interval(values, n=n, cluster=cluster, level=settings.level)
            )
            resampled = percentile(shared.part([column]), settings.level)[0]
            small = shared.run.units < QUOTE_BOOTSTRAP_FROM
            yield ArmRow(name, number(other, "Korn-Graubard" if rate else "CR2 with t"), small, about)
            yield ArmRow(name, number(resampled, "percentile bootstrap"), not small, about)
        yield from _these(suite, arm, policies, settings)
        if int(has.sum()) < SECOND_OPINION_BELOW:
            yield from _hierarchical(suite, arm, (last, 2 * last), policies, settings)


def _hierarchical(
    suite: SuiteCells, arm: int, ks: tuple[int, ...], policies: Policies, settings: Settings
) -> Iterator[ArmRow]:
    """A second opinion at few tasks: the posterior of the rate, and of pass^k at the largest k and beyond it."""
    has = suite.n[:, arm] > 0
    fit = hierarchical(suite.n[has, arm], suite.c[has, arm], ks=ks, level=settings.level)
    for k, found in ((1, fit.rate), *zip(ks, fit.pass_hat, strict=True)):
        statistic = "pass@1" if found is fit.rate else f"pass^{k}"
        beyond = ", extrapolated beyond the trials there are" if found.extrapolated else ""
        told = (
            undefined((found.reason or "undefined").rstrip("."))
            if found.mean is None
            else Number(found.mean, found.low, found.high, found.level, f"hierarchical beta-binomial{beyond}")
        )
        about = estimand(statistic, suite, arm, policies, settings, k=k)
        yield ArmRow(suite.arms[arm], told, False, about)


def _these(suite: SuiteCells, arm: int, policies: Policies, settings: Settings) -> Iterator[ArmRow]:
    has = suite.n[:, arm] > 0
    n, c = suite.n[has, arm], suite.c[has, arm]
    about = estimand("pass@1", suite, arm, policies, settings, k=1, unit="trial", population="these exact tasks")
    yield ArmRow(
        suite.arms[arm], number(these_tasks_interval(n, c, settings.level), "noise within tasks"), False, about
    )
    pooled = replace(about, statistic="passes / trials")
    yield ArmRow(suite.arms[arm], number(pooled_wilson(n, c, settings.level), "Wilson on pooled trials"), False, pooled)


def curve_rows(suite: SuiteCells, shared: Resampled, policies: Policies, settings: Settings) -> Iterator[CurveRow]:
    """Both curves of every arm, k = 1 .. the smallest n or k_max, with pointwise limits and a sup-t band."""
    for arm, name in enumerate(suite.arms):
        for sign in ("pass@", "pass^"):
            names = [n for (a, n) in shared.columns if a == arm and n.startswith(sign)]
            if not names:
                continue
            found = band(shared.part([shared.columns[arm, n] for n in names]), settings.level)
            for place, statistic in enumerate(names):
                about = estimand(statistic, suite, arm, policies, settings, k=place + 1)
                point = Number(
                    found.values[place], found.low[place], found.high[place], settings.level, "percentile bootstrap"
                )
                yield CurveRow(name, place + 1, point, found.band_low[place], found.band_high[place], about)


def task_rows(suite: SuiteCells) -> Iterator[TaskRow]:
    """Every task under every arm."""
    names = [f"trials_{status}" for status in STATUSES]
    clusters = suite.clusters if suite.clusters is not None else np.array([None] * len(suite.tasks))
    for arm, name in enumerate(suite.arms):
        by_task = suite.by_task[arm]
        counts = {
            status: by_task.measure(n).tolist()
            for status, n in zip(STATUSES, names, strict=True)
            if by_task.measure(n).any()
        }
        infrastructure, suspect = (
            by_task.measure("attempts_infrastructure").tolist(),
            by_task.measure("suspect").tolist(),
        )
        known = by_task.measure("cost_known").tolist()
        place = {task: index for index, task in enumerate(by_task.keys["task"].decode())}
        for row, task in enumerate(suite.tasks):
            at = place.get(task)
            if at is None:
                continue
            n, c = int(suite.n[row, arm]), int(suite.c[row, arm])
            endings = " ".join(f"{status}:{values[at]}" for status, values in counts.items() if values[at])
            kind = "no verdict" if not n else "never solved" if not c else "always solved" if c == n else "flaky"
            score = float(suite.score[row, arm] / n) if n else None
            cost = float(suite.cost[row, arm]) if known[at] else None
            cluster = None if clusters[row] is None else str(clusters[row])
            yield TaskRow(name, task, cluster, n, c, score, kind, cost, infrastructure[at], suspect[at], endings)


def variance_rows(suite: SuiteCells) -> Iterator[VarianceRow]:
    """Between tasks and within tasks, unbiased and plug-in, and their shares of the squared standard error."""
    for arm, name in enumerate(suite.arms):
        has = suite.n[:, arm] > 0
        n = suite.n[has, arm]
        if not len(n):
            yield VarianceRow(name, "between tasks", None, None, None, "no trial has a verdict")
            continue
        graded = suite.score_sq[has, arm] if suite.graded else None
        total = suite.score[has, arm] if suite.graded else suite.c[has, arm]
        parts = variance_parts(n, total, graded)
        within = parts.removable_share
        note = parts.reason or parts.note
        between = None if within is None else 1 - within
        yield VarianceRow(name, "between tasks", parts.between_unbiased, parts.between_plugin, between, note)
        yield VarianceRow(name, "within tasks", parts.within_unbiased, parts.within_plugin, within, note)
        yield VarianceRow(name, "intraclass correlation", parts.icc, None, None, note)
        yield VarianceRow(name, "design effect", parts.design_effect, None, None, note)
