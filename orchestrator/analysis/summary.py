"""The aggregation: rows of any number of results folders to one summary. Deterministic for a seed."""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from orchestrator.analysis.arms import arm_rows, curve_rows, resample, task_rows, variance_rows
from orchestrator.analysis.cells import CELLS, some_cells
from orchestrator.analysis.completeness import check_cells
from orchestrator.analysis.conditions import day_rows, resource_rows
from orchestrator.analysis.context import Policies, Settings, SuiteCells
from orchestrator.analysis.costs import cost_rows
from orchestrator.analysis.drifting import drift_rows
from orchestrator.analysis.factors import factor_rows
from orchestrator.analysis.families import adjusted
from orchestrator.analysis.floors import floor_rows, oracle_floors
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.integrity import PROFILES, TASK_DIGESTS, Finding, RowCheck, check_profiles, check_rows
from orchestrator.analysis.judge_effects import judge_effects
from orchestrator.analysis.judging import JUDGEMENTS, judge_rows, judged_trials
from orchestrator.analysis.outcomes import run_rows, run_summary_rows, runs_gathering
from orchestrator.analysis.pairs import compared_pairs
from orchestrator.analysis.places import NODES, Hours
from orchestrator.analysis.quick import QuickRow, quick_table
from orchestrator.analysis.ranking import rank_rows, ranked
from orchestrator.analysis.resource_effects import resource_effects
from orchestrator.analysis.rows import RowFile, RowsError, row_files
from orchestrator.analysis.scanning import Gathering, Partitioner, gather
from orchestrator.analysis.select import Selection, parse_selection
from orchestrator.analysis.tables import TABLES, CostRow, Provenance, Summary
from orchestrator.analysis.usage import Spread, UsageOf, spreads
from orchestrator.core.columns import SCHEMA_VERSION
from orchestrator.core.status import ScoringRule

__all__ = ["Loaded", "QuickRow", "aggregate", "load_cells", "quick_table", "summarise"]

Usage = dict[tuple[object, ...], dict[str, Spread]]


@dataclass(frozen=True, slots=True)
class Details:
    """What a whole summary needs besides cells: trials by run and by hour of the day under a scoring rule, trials by
    node whatever their ending, judgements, and usage by arm."""

    rule: ScoringRule
    runs: Grouped
    judged: Grouped | None
    usage: Usage
    hours: Grouped
    nodes: Grouped


@dataclass(frozen=True, slots=True)
class Loaded:
    """What statistics start from: cells, what rows have in common, and what is wrong with them.

    days, snapshots: dates in the cells, in order, and how many environment snapshots they have.
    """

    roots: tuple[str, ...]
    files: tuple[RowFile, ...]
    cells: Grouped
    profiles: Grouped
    digests: Grouped
    check: RowCheck
    findings: tuple[Finding, ...]
    days: tuple[str, ...]
    snapshots: int
    selection: Selection = field(default=Selection(()))
    details: "Details | None" = None

    @property
    def policies(self) -> Policies:
        return Policies.of(self.profiles)


def load_cells(
    roots: Sequence[str],
    *,
    selection: Selection | None = None,
    map_partitions: Partitioner | None = None,
    rule: ScoringRule | None = None,
) -> Loaded:
    """Check all rows, leave out what must be left out, and reduce the rest to cells.

    With a `rule`, the details of a whole summary are read in the same pass.
    Raises RowsError where there is no row, or none is selected.
    """
    files = row_files(roots)
    check = check_rows(files, map_partitions=map_partitions)
    wanted = [CELLS, PROFILES, TASK_DIGESTS, *(_details(rule) if rule is not None else ())]
    cells, profiles, digests, *rest = gather(files, wanted, excluded=check.excluded, map_partitions=map_partitions)
    cells = some_cells(cells)
    chosen = selection or Selection(())
    findings = [
        *check.findings,
        *check_profiles(*(part.where(_same_fields(chosen, part)) for part in (profiles, digests))),
    ]
    cells = chosen.apply(cells) if chosen.conditions else cells
    findings += check_cells(cells, roots)
    details = None if rule is None else _selected(rule, rest, chosen)
    days = tuple(str(day) for day in cells.keys["day"].present())
    snapshots = len([value for value in cells.keys["snapshot_id"].present() if value is not None])
    return Loaded(
        tuple(roots), tuple(files), cells, profiles, digests, check, tuple(findings), days, snapshots, chosen, details
    )


def _details(rule: ScoringRule) -> tuple[Gathering, ...]:
    return (runs_gathering(rule), JUDGEMENTS, UsageOf(), Hours(rule), NODES)


def _selected(rule: ScoringRule, found: Sequence[Any], selection: Selection) -> Details:
    runs, judged, usage, *places = found
    hours, nodes = (part.where(_same_fields(selection, part)) for part in places)
    judged = judged_trials(judged)
    if judged is not None:
        judged = judged.where(_same_fields(selection, judged))
    return Details(rule, runs.where(_same_fields(selection, runs)), judged, spreads(usage), hours, nodes)


def aggregate(
    roots: Sequence[str],
    settings: Settings | None = None,
    *,
    selection: str | Sequence[str] = (),
    map_partitions: Partitioner | None = None,
) -> Summary:
    """The summary of results folders. `map_partitions` spreads the reading; the result is the same bit for bit.

    Raises RowsError, in one sentence, where nothing can be said.
    """
    chosen = settings or Settings()
    loaded = load_cells(roots, selection=parse_selection(selection), map_partitions=map_partitions, rule=chosen.rule)
    return summarise(loaded, chosen, map_partitions=map_partitions)


def summarise(loaded: Loaded, settings: Settings, *, map_partitions: Partitioner | None = None) -> Summary:
    """All tables of loaded cells; details that were not loaded under this scoring rule are read."""
    there = sorted(str(name) for name in loaded.cells.keys["resources"].present())
    if settings.baseline is not None and settings.baseline not in there:
        raise RowsError(
            f"The baseline {settings.baseline!r} was asked for, but the resource settings are {', '.join(there)}."
        )
    details = loaded.details
    if details is None or details.rule is not settings.rule:
        found = gather(
            loaded.files, _details(settings.rule), excluded=loaded.check.excluded, map_partitions=map_partitions
        )
        details = _selected(settings.rule, found, loaded.selection)
    summary = replace(Summary(_provenance(loaded, settings)), integrity=loaded.findings)
    # Each part has its own random generator, so that none depends on when the others are computed.
    # One thread per matrix product: its sums are then the same on any number of cores, and three parts run at once anyway.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(3) as pool:
        others = [pool.submit(part, details, loaded, settings) for part in (_judge_tables, _run_tables)]
        for part in _suites(loaded, settings, details):
            summary = _joined(summary, part)
        for other in others:
            summary = _joined(summary, other.result())
    summary = replace(summary, comparisons=adjusted(summary.comparisons, settings))
    if all(row.number.estimate is None for row in summary.arms):
        raise RowsError(
            f"No trial of {', '.join(loaded.roots)} counts under the rule {settings.rule}: no score can be given."
        )
    return summary


def _run_tables(details: Details, loaded: Loaded, settings: Settings) -> Summary:
    runs = details.runs
    return Summary(
        _provenance(loaded, settings),
        runs=tuple(run_rows(runs)),
        run_summaries=tuple(run_summary_rows(runs, settings)),
        factors=tuple(factor_rows(runs, details.hours, settings)),
    )


def _judge_tables(details: Details, loaded: Loaded, settings: Settings) -> Summary:
    empty, judged = Summary(_provenance(loaded, settings)), details.judged
    if judged is None:
        return empty
    return replace(
        empty,
        judges=tuple(judge_rows(judged, loaded, settings)),
        judge_effects=tuple(judge_effects(judged, loaded, settings)),
    )


def _same_fields(selection: Selection, grouped: Grouped) -> NDArray[np.bool_]:
    kept = tuple((name, values) for name, values in selection.conditions if name in grouped.keys)
    return Selection(kept).mask(grouped)


def _suites(loaded: Loaded, settings: Settings, details: Details) -> Iterator[Summary]:
    policies, floors = loaded.policies, oracle_floors(loaded.cells, settings.level)
    for (name,), cells in loaded.cells.groups(["suite"]):
        suite = SuiteCells.of(str(name), cells, settings.rule)
        if not suite.n.any():
            continue
        shared, ranking = resample(suite, settings), ranked(suite, settings)
        costs: tuple[CostRow, ...] = tuple(cost_rows(suite, details.usage, policies, settings))
        yield Summary(
            _provenance(loaded, settings),
            arms=tuple(arm_rows(suite, shared, policies, settings)),
            curves=tuple(curve_rows(suite, shared, policies, settings)),
            tasks=tuple(task_rows(suite)),
            variance=tuple(variance_rows(suite)),
            days=tuple(day_rows(suite, policies, settings)),
            comparisons=tuple(compared_pairs(suite, ranking, loaded, settings, floors)),
            resources=tuple(resource_rows(suite, policies, settings)),
            costs=costs,
            ranks=tuple(rank_rows(suite, ranking, policies, settings)),
            resource_effects=(
                *resource_effects(suite, loaded.profiles, policies, settings),
                *floor_rows(suite, details.nodes, policies, settings),
            ),
            drift=tuple(drift_rows(suite, policies, settings)),
        )


def _joined(first: Summary, second: Summary) -> Summary:
    names = [name for name in TABLES if name != "integrity"]
    return replace(first, **{name: getattr(first, name) + getattr(second, name) for name in names})


def _provenance(loaded: Loaded, settings: Settings) -> Provenance:
    told = repr((loaded.check.data_hash, str(loaded.selection), settings, SCHEMA_VERSION, _version()))
    return Provenance(
        hashlib.sha256(told.encode()).hexdigest()[:16],
        loaded.roots,
        loaded.check.rows,
        len(loaded.cells),
        loaded.check.data_hash,
        settings.seed,
        str(settings.rule),
        settings.replicates,
        _version(),
        SCHEMA_VERSION,
        loaded.days[0],
        loaded.days[-1],
        str(loaded.selection),
    )


def _version() -> str:
    try:
        return version("passhat")
    except PackageNotFoundError:
        return "unknown"
