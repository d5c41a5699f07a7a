"""The short table at the end of a run: one line for each arm, straight from the rows, without intervals."""

from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.cells import ARM_KEYS, CELLS, passes, planned, some_cells, trials
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.integrity import PROFILES, TASK_DIGESTS, Finding, check_profiles, check_rows
from orchestrator.analysis.rows import RowsError, row_files
from orchestrator.analysis.scanning import Gathering, gather
from orchestrator.analysis.usage import Spread, UsageOf, spreads
from orchestrator.core.status import ScoringRule
from orchestrator.stats.passk import pass_at_k, pass_hat_k


@dataclass(frozen=True, slots=True)
class QuickRow:
    """One arm. Numbers are under the scoring rule `default`; None where they are not defined.

    trials: with a verdict; without_verdict: ended without one. `pass_at_k` is None where fewer than k trials
    of some task have a verdict, and then `reason` says so.
    """

    suite: str
    agent: str
    resources: str
    lane: str
    tasks: int
    trials: int
    without_verdict: int
    suspect: int
    pass_at_1: float | None
    pass_at_3: float | None
    pass_hat_3: float | None
    infrastructure_failures: int
    oom_kills: int
    median_s: float | None
    cost_usd: float | None
    reason: str | None

    @property
    def label(self) -> str:
        return f"{self.agent}/{self.resources}" + ("" if self.lane == "live" else f"/{self.lane}")


def quick_table(root: str, sweep: str | None = None) -> list[QuickRow]:
    """One row for each arm of a sweep (or of everything under the root). Raises RowsError for no rows."""
    return quick_summary(root, sweep)[0]


def quick_summary(root: str, sweep: str | None = None) -> tuple[list[QuickRow], list[Finding]]:
    """As `quick_table`, and the errors that were found in the rows."""
    files = row_files([root], sweep=sweep)
    check = check_rows(files)
    wanted: list[Gathering] = [CELLS, UsageOf(sweep), PROFILES, TASK_DIGESTS]
    cells, lists, profiles, digests = gather(files, wanted, excluded=check.excluded)
    cells = some_cells(cells)
    if sweep is not None:
        cells, profiles, digests = (
            part.where(part.keys["sweep"].mask(lambda value: value == sweep)) for part in (cells, profiles, digests)
        )
    if not len(cells):
        raise RowsError(f"Sweep {sweep} was asked for, but {root} holds no row of it: run it first.")
    usage = spreads(lists)
    findings = [found for found in (*check.findings, *check_profiles(profiles, digests)) if found.severity == "error"]
    return [_row(arm, part, usage[arm]) for arm, part in cells.groups(ARM_KEYS)], findings


def _row(arm: tuple[object, ...], cells: Grouped, usage: dict[str, Spread]) -> QuickRow:
    tasks = cells.regroup(["task"])
    every, won = trials(tasks, ScoringRule.DEFAULT), passes(tasks)
    n, c = every[every > 0], won[every > 0]
    smallest = int(n.min()) if len(n) else 0
    suspect = int(cells.measure("suspect").sum())
    known = int(cells.measure("cost_known").sum())
    suite, agent, resources, lane = (str(value) for value in arm)
    return QuickRow(
        suite,
        agent,
        resources,
        lane,
        tasks=len(tasks),
        trials=int(n.sum()),
        without_verdict=int(planned(tasks).sum() - every.sum()) - suspect,
        suspect=suspect,
        pass_at_1=pass_at_k(n, c, 1).value if smallest >= 1 else None,
        pass_at_3=pass_at_k(n, c, 3).value if smallest >= 3 else None,
        pass_hat_3=pass_hat_k(n, c, 3).value if smallest >= 3 else None,
        infrastructure_failures=int(cells.measure("attempts_infrastructure").sum()),
        oom_kills=int(cells.measure("oom").sum()),
        median_s=usage["total_s"].median,
        cost_usd=float(np.sum(cells.measure("cost_sum"))) if known else None,
        reason=_reason(smallest, int((every == 0).sum())),
    )


def _reason(smallest: int, silent: int) -> str | None:
    told = []
    if silent:
        told.append(f"{silent} tasks have no trial with a verdict and are left out")
    if smallest < 3:
        held = f"{smallest} trial{'s' * (smallest != 1)} with a verdict"
        told.append(f"a task has {held}, so that pass@3 and pass^3 cannot be given")
    return " and ".join(told) or None
