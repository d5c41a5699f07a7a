"""Two groups of cells paired by task: what may be compared, what must be marked, and the differences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from orchestrator.analysis.cells import passes, trials
from orchestrator.analysis.context import Floats, Settings, Whole
from orchestrator.analysis.estimand import Estimand, Number, undefined
from orchestrator.analysis.floors import Floors, floor_mark
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.rows import RowsError
from orchestrator.analysis.tables import ComparisonRow
from orchestrator.core.status import ScoringRule
from orchestrator.stats.bayes import rule_of_three
from orchestrator.stats.equivalence import non_inferior, tost
from orchestrator.stats.paired import Paired, paired_pass, paired_score
from orchestrator.stats.passk import Statistic, task_values

_CURVES: tuple[tuple[Statistic, str], ...] = (("pass@k", "pass@"), ("pass^k", "pass^"))
MUST_MATCH = ("suite_digest", "grader", "judge_version", "retry_max", "timeout_multiplier")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: sums by task. attempts: all of them, which cost is spent on."""

    label: str
    suite: str
    tasks: tuple[str, ...]
    clusters: tuple[str | None, ...]
    n: Whole
    c: Whole
    score: Floats
    score_sq: Floats
    cost: Floats
    cost_known: bool
    resources: tuple[str, ...]
    snapshots: frozenset[object]
    days: tuple[str, ...]

    @classmethod
    def of(cls, label: str, cells: Grouped, rule: ScoringRule) -> "Side":
        """Tasks with a verdict only; the others are told apart by `without_verdict`."""
        by_task = cells.regroup(["task", "task_cluster"])
        n = trials(by_task, rule)
        attempts, known = by_task.measure("attempts"), by_task.measure("cost_known")
        keep = n > 0
        chosen = by_task.where(keep)
        return cls(
            label,
            ", ".join(str(value) for value in cells.keys["suite"].present()),
            tuple(str(task) for task in chosen.keys["task"].decode()),
            tuple(None if value is None else str(value) for value in chosen.keys["task_cluster"].decode()),
            n[keep],
            passes(chosen),
            chosen.measure("score_sum").astype(float),
            chosen.measure("score_sumsq").astype(float),
            chosen.measure("cost_sum").astype(float),
            bool(np.all(attempts[keep] == known[keep])),
            tuple(str(value) for value in cells.keys["resources"].present()),
            frozenset(cells.keys["snapshot_id"].present()),
            tuple(str(value) for value in cells.keys["day"].present()),
        )

    def on(self, tasks: Sequence[str]) -> "Side":
        place = {task: index for index, task in enumerate(self.tasks)}
        index = np.array([place[task] for task in tasks], dtype=np.int64)
        clusters = tuple(self.clusters[i] for i in index.tolist())
        return replace(
            self, tasks=tuple(tasks), clusters=clusters, n=self.n[index], c=self.c[index], score=self.score[index],
            score_sq=self.score_sq[index], cost=self.cost[index],
        )  # fmt: skip


def mismatches(first: Side, second: Side, profiles: tuple[Grouped, Grouped] | None) -> list[str]:
    """What differs between the sides besides what is compared, one sentence each: reasons to refuse."""
    found = []
    only = sorted(set(first.tasks) ^ set(second.tasks))
    if only:
        found.append(
            f"{len(only)} tasks have verdicts on one side only ({', '.join(only[:4])}{', ...' if len(only) > 4 else ''})"
        )
    known = [{s for s in side.snapshots if s is not None} for side in (first, second)]
    if known[0] and known[1] and not known[0] & known[1]:
        found.append("no environment snapshot is shared, so the machines or images differ")
    for column in MUST_MATCH if profiles else ():
        values = [set(profile.keys[column].present()) for profile in profiles or ()]
        if values[0] != values[1]:
            told = [", ".join(sorted(str(v)[:12] for v in value)) for value in values]
            found.append(f"{column} is {told[0]} on one side and {told[1]} on the other")
    return found


@dataclass(frozen=True, slots=True)
class Terms:
    """What a comparison is under: settings, the retry policy in words, and the noise floors that were measured."""

    settings: Settings
    policy: str
    floors: Floors = field(default_factory=dict)


def compare_sides(
    first: Side,
    second: Side,
    terms: Terms,
    *,
    profiles: tuple[Grouped, Grouped] | None = None,
    anyway: bool = False,
    strict: bool = True,
    ks: Sequence[int] = (),
) -> Iterator[ComparisonRow]:
    """Differences, second less first, on the tasks both sides have: pass@1, pass@k and pass^k, score and cost.

    With `strict`, raises RowsError for sides that do not match unless `anyway`; then every row carries the marks.
    """
    wrong = mismatches(first, second, profiles)
    if wrong and strict and not anyway:
        raise RowsError(
            f"{first.label} and {second.label} were to be compared, but {'; '.join(wrong)}: choose sides that match, or "
            "add --anyway to compare the tasks they share, marked."
        )
    shared = sorted(set(first.tasks) & set(second.tasks))
    if not shared:
        raise RowsError(f"{first.label} and {second.label} share no task with a verdict: nothing can be paired.")
    marks = list(wrong)
    if first.resources != second.resources:
        marks.append(f"resource settings differ ({', '.join(first.resources)} against {', '.join(second.resources)})")
    a, b = first.on(shared), second.on(shared)
    for found in _statistics(a, b, terms.settings, ks):
        yield _row(a, b, found, terms, marks)


@dataclass(frozen=True, slots=True)
class _Found:
    """One statistic compared; gaps [T]: second less first, for the tests against the margin, None for money."""

    statistic: str
    k: int | None
    paired: Paired
    gaps: Floats | None


def _statistics(a: Side, b: Side, settings: Settings, ks: Sequence[int]) -> Iterator[_Found]:
    cluster = _clusters(a)
    rng = settings.rng("compare", a.label, b.label)

    def counted(k: int, kind: Statistic, name: str) -> _Found:
        found = paired_pass(
            a.n, a.c, b.n, b.c, k, kind, rng=rng, cluster=cluster, level=settings.level, flips=settings.flips
        )
        enough = found.difference is not None
        return _Found(
            name, k, found, task_values(b.n, b.c, k, kind) - task_values(a.n, a.c, k, kind) if enough else None
        )

    def valued(one: Floats, other: Floats, name: str) -> Paired:
        return paired_score(
            a.n, one, b.n, other, rng=rng, cluster=cluster, level=settings.level, flips=settings.flips, statistic=name
        )

    yield counted(1, "pass@k", "pass@1")
    largest = int(min(a.n.min(), b.n.min(), settings.k_max))
    for k in ks or ((largest,) if largest > 1 else ()):
        if k == 1:
            continue
        for kind, sign in _CURVES:
            yield counted(k, kind, f"{sign}{k}")
    if np.any(np.abs(a.score - a.c) > 1e-9) or np.any(np.abs(b.score - b.c) > 1e-9):
        yield _Found("score", None, valued(a.score, b.score, "score"), b.score / b.n - a.score / a.n)
    if a.cost_known and b.cost_known:
        yield _Found("cost per trial", None, valued(a.cost, b.cost, "cost per trial"), None)


def _clusters(side: Side) -> np.ndarray | None:
    names = [c if c is not None else f"task {t}" for c, t in zip(side.clusters, side.tasks, strict=True)]
    return np.array(names) if len(set(names)) < len(names) else None


def _row(a: Side, b: Side, one: _Found, terms: Terms, marks: Sequence[str]) -> ComparisonRow:
    found, settings, statistic = one.paired, terms.settings, one.statistic
    gap = found.difference
    number = (
        Number(gap.value, gap.low, gap.high, gap.level, "CR2 with t, paired by task", None, gap.reason)
        if gap is not None and gap.value is not None
        else undefined(found.reason or "undefined")
    )
    number = _within_reason(number, one, len(a.tasks) if _clusters(a) is None else len(set(a.clusters)))
    alike, worse = _against_margin(a, one, settings)
    p_value = found.test.p if found.test else None
    floor = floor_mark(number.estimate, a.suite, sorted({*a.resources, *b.resources}), terms.floors)
    told = [*marks, *([floor] if floor and one.gaps is not None else [])]
    row = ComparisonRow(
        a.label, b.label, a.suite, statistic, number, p_value, None, "", found.helped or 0, found.hurt or 0,
        found.tied or 0, found.correlation, found.test.flips if found.test else None, None, alike, worse, "",
        "; ".join(told), _about(a, b, one, terms), "",
    )  # fmt: skip
    row = replace(row, equivalence=verdict(row, p_value, alike, settings))
    return replace(row, sentence=_sentence(a, b, row, found))


def _within_reason(number: Number, one: _Found, units: int) -> Number:
    """No interval without width where all tasks are tied, and none beyond what a difference of rates can be."""
    found = one.paired
    if number.estimate is None or number.low is None or number.high is None:
        return number
    if found.tied and not found.helped and not found.hurt:
        most = 100 * rule_of_three(units)
        why = f"no task differs, which shows no spread; up to {most:.3g}% of tasks like these may still (rule of three)"
        return replace(number, low=None, high=None, interval_reason=why)
    if one.statistic.startswith("pass"):
        return replace(number, low=max(-1.0, number.low), high=min(1.0, number.high))
    return number


def _against_margin(a: Side, one: _Found, settings: Settings) -> tuple[float | None, float | None]:
    """p that the sides are alike within the margin, and p that the second is not worse by the margin."""
    if one.gaps is None:
        return None, None
    cluster, alpha = _clusters(a), 1 - settings.level
    alike = tost(one.gaps, settings.margin, cluster=cluster, alpha=alpha)
    return alike.p, non_inferior(one.gaps, settings.margin, cluster=cluster, alpha=alpha).p


def _about(a: Side, b: Side, one: _Found, terms: Terms) -> Estimand:
    n = np.minimum(a.n, b.n)
    days = sorted({*a.days, *b.days})
    return Estimand(
        f"difference in {one.statistic}", one.k, int(n.min()), float(np.median(n)), int(n.max()), len(n),
        "task" if _clusters(a) is None else "task cluster", "tasks like these", str(terms.settings.rule), terms.policy,
        len({s for s in a.snapshots | b.snapshots if s is not None}),
        " against ".join(dict.fromkeys([", ".join(a.resources), ", ".join(b.resources)])), len(days), days[0], days[-1],
    )  # fmt: skip


def verdict(row: ComparisonRow, p: float | None, p_equivalent: float | None, settings: Settings) -> str:
    """higher, lower, equivalent within the margin, or undecided; never "no difference" for want of proof.

    p and p_equivalent are those that decide: alone for one comparison, adjusted for a family.
    """
    number, alpha = row.number, 1 - settings.level
    if number.estimate is None or p is None:
        return "undecided"
    apart = number.low is not None and number.high is not None and (number.low > 0 or number.high < 0)
    if p < alpha and apart:
        return "higher" if number.estimate > 0 else "lower"
    if p_equivalent is not None and p_equivalent <= alpha:
        return f"equivalent within {100 * settings.margin:g} points"
    return "undecided"


def _sentence(a: Side, b: Side, row: ComparisonRow, found: Paired) -> str:
    number, statistic = row.number, row.statistic
    if number.estimate is None:
        return f"{b.label} less {a.label}, {statistic}: cannot be given; {number.reason}."
    money = statistic.startswith("cost")
    size = f"{number.estimate:+.4g} USD" if money else f"{100 * number.estimate:+.1f} points"
    limits = f"no interval: {(number.interval_reason or 'its error is unknown').rstrip('.')}"
    if number.low is not None and number.high is not None:
        limits = (
            f"{number.low:+.4g} to {number.high:+.4g}"
            if money
            else f"{100 * number.low:+.1f} to {100 * number.high:+.1f}"
        )
    return (
        f"{statistic} of {b.label} less {a.label} on {len(a.tasks)} shared tasks: {size} ({limits}{_test(found)}); "
        f"{row.helped} tasks higher, {row.hurt} lower, {row.tied} equal: {row.equivalence}."
    )


def _test(found: Paired) -> str:
    test = found.test
    if test is None or test.p is None:
        return ""
    how = "all sign patterns" if test.exact else f"{test.flips:,} flips"
    return f", sign-flip p = {test.p:.3g} by {how}"
