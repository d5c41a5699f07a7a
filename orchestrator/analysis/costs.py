"""What arms cost and how long they took, and which give the most accuracy for their cost."""

from collections.abc import Iterator, Mapping

from orchestrator.analysis.arms import number
from orchestrator.analysis.context import Policies, Settings, SuiteCells, estimand
from orchestrator.analysis.estimand import undefined
from orchestrator.analysis.tables import CostRow
from orchestrator.analysis.usage import Spread
from orchestrator.stats.cost import cost_per_solved
from orchestrator.stats.frontier import REPLICATES, FrontierArm, frontier


def cost_rows(
    suite: SuiteCells,
    usage: Mapping[tuple[object, ...], Mapping[str, Spread]],
    policies: Policies,
    settings: Settings,
) -> Iterator[CostRow]:
    """Cost per solved trial with its interval, spreads of time, turns and tokens, and the cost-accuracy frontier."""
    front = _frontier(suite, settings)
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
        place, rival = front.get(column, (None, None))
        yield CostRow(
            arm, solved, total, attempts - known, attempts, int(suite.c[:, column].sum()),
            total / n if total is not None and n and known == attempts else None,
            s.median, s.p90, turns.median, turns.p90, tokens.median, tokens.p90, place.on_frontier if place else None, place.share if place else None,
            place.place if place else None, rival, about,
        )  # fmt: skip


def _frontier(suite: SuiteCells, settings: Settings) -> dict[int, tuple[FrontierArm, str | None]]:
    """Arms with known costs on the tasks all of them have, and the name of the arm that dominates each most often."""
    known = [a for a in range(len(suite.arms)) if _costs_known(suite, a)]
    has = suite.with_trials(known)
    if not has.any():
        return {}
    n = suite.n[has][:, known]
    found = frontier(
        (suite.c[has][:, known] / n).T, (suite.cost[has][:, known] / n).T, rng=settings.rng("frontier", suite.suite),
        cluster=suite.cluster_of(has), n=n.min(axis=1), level=settings.level,
        replicates=max(100, min(settings.replicates, REPLICATES)),
    )  # fmt: skip
    names = [suite.arms[a].label for a in known]
    told = [None if arm.rival is None else names[arm.rival] for arm in found.arms]
    return dict(zip(known, zip(found.arms, told, strict=True), strict=False))


def _costs_known(suite: SuiteCells, column: int) -> bool:
    cells = suite.cells[column]
    return bool(
        cells.measure("cost_known").sum() == cells.measure("attempts").sum() > 0 and suite.n[:, column].sum() > 0
    )
