"""All pairs of arms at once: ranks with intervals, and the arms that cannot be told apart."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.analysis.context import Policies, Settings, SuiteCells, estimand
from orchestrator.analysis.tables import ArmName, RankRow
from orchestrator.stats.multiple import AllPairs, all_pairs

# Signs looked at over all pairs of a suite; beyond that there are fewer flips, 1,999 at least.
_SIGNS = 2e7


@dataclass(frozen=True, slots=True)
class Ranking:
    """The comparison of all pairs, the columns of the arms in it, and the tasks it is on."""

    found: AllPairs | None
    columns: list[int]
    has: np.ndarray


def rank_rows(suite: SuiteCells, ranking: Ranking, policies: Policies, settings: Settings) -> Iterator[RankRow]:
    """pass@1 of every arm on the tasks all arms have, step-down max-T over shared sign flips."""
    found, columns, has = ranking.found, ranking.columns, ranking.has
    if found is None or found.groups is None or found.ranks is None:
        return
    letters = [f"{at + 1}" for at in range(len(found.groups))]
    order = np.argsort(-np.array(found.means), kind="stable").tolist()
    for place in order:
        arm = suite.arms[columns[place]]
        inside = [letter for letter, group in zip(letters, found.groups, strict=True) if place in group]
        best, worst = found.ranks[place]
        n = suite.n[has, columns[place]]
        about = replace(
            estimand("rank by pass@1", suite, columns[place], policies, settings, k=1),
            tasks=int(has.sum()), n_min=int(n.min()), n_median=float(np.median(n)), n_max=int(n.max()),
        )  # fmt: skip
        same = [_name(suite, columns, other) for other in _together(found, place)]
        told = f"rank {best}" if best == worst else f"rank {best} to {worst}"
        rest = f"; not told apart from {', '.join(same[:6])}{', ...' if len(same) > 6 else ''}" if same else ""
        yield RankRow(
            arm, found.means[place], best, worst, " ".join(inside), found.flips, about,
            f"{arm.label}: {told} of {len(columns)} at {100 * settings.level:g}% for all arms at once "
            f"({found.flips:,} shared sign flips){rest}." + (f" {found.note}" if found.note else ""),
        )  # fmt: skip


def ranked(suite: SuiteCells, settings: Settings) -> Ranking:
    """All pairs of the arms that have trials, on the tasks that all of them have."""
    columns = [a for a in range(len(suite.arms)) if suite.n[:, a].any()]
    has = suite.with_trials(columns)
    if len(columns) < 2 or not has.any():
        return Ranking(None, columns, has)
    n = suite.n[has][:, columns]
    pairs = len(columns) * (len(columns) - 1) // 2
    flips = int(np.clip(_SIGNS / pairs, 1_999, settings.flips))
    found = all_pairs(
        (suite.c[has][:, columns] / n).T, rng=settings.rng("ranks", suite.suite), cluster=suite.cluster_of(has),
        n=n.min(axis=1), level=settings.level, flips=min(flips, settings.flips), statistic="pass@1",
    )  # fmt: skip
    return Ranking(found, columns, has)


def joint_p(suite: SuiteCells, ranking: Ranking) -> dict[tuple[ArmName, ArmName], float]:
    """p of each pair of arms adjusted over all pairs (max-T)."""
    found = ranking.found
    if found is None or found.pairs is None:
        return {}
    names = [suite.arms[column] for column in ranking.columns]
    return {(names[pair.first], names[pair.second]): pair.p_adjusted for pair in found.pairs}


def _together(found: AllPairs, place: int) -> list[int]:
    return sorted({other for group in found.groups or () if place in group for other in group if other != place})


def _name(suite: SuiteCells, columns: list[int], place: int) -> str:
    return suite.arms[columns[place]].label
