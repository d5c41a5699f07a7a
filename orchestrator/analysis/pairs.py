"""Which arms of a suite are compared in a summary: all pairs of few arms, else each with the best and its kin."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.analysis.context import Settings, SuiteCells
from orchestrator.analysis.contrasts import Side, Terms, compare_sides
from orchestrator.analysis.floors import Floors
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.ranking import Ranking, joint_p
from orchestrator.analysis.rows import RowsError
from orchestrator.analysis.tables import ArmName, ComparisonRow

if TYPE_CHECKING:
    from orchestrator.analysis.summary import Loaded


# Signs flipped over all tests of a suite; from there on each test gets fewer flips, 1,999 at least.
_FLIPPED_SIGNS = 4e8


def compared_pairs(
    suite: SuiteCells, ranking: Ranking, loaded: "Loaded", settings: Settings, floors: Floors
) -> Iterator[ComparisonRow]:
    """Differences of the chosen pairs, marked where sides do not match; a pair without a shared task is left out."""
    policies = loaded.policies
    pairs = chosen_pairs(suite, settings)
    flips = int(np.clip(_FLIPPED_SIGNS / max(1, 4 * len(pairs) * len(suite.tasks)), 1_999, settings.flips))
    settings = replace(settings, flips=min(flips, settings.flips))
    used = sorted({arm for pair in pairs for arm in pair})
    sides = {arm: Side.of(suite.arms[arm].label, suite.cells[arm], settings.rule) for arm in used}
    profiles = {arm: profile_of(loaded.profiles, suite.arms[arm]) for arm in used}
    joint = joint_p(suite, ranking)

    def rows(pair: tuple[int, int]) -> list[ComparisonRow]:
        first, second = pair
        terms = Terms(settings, policies.sentence(suite.arms[second]), floors)
        both = (profiles[first], profiles[second])
        try:
            found = list(compare_sides(sides[first], sides[second], terms, profiles=both, strict=False))
        except RowsError:
            return []
        p = joint.get((suite.arms[first], suite.arms[second]))
        return [replace(row, p_all_pairs=p if row.statistic == "pass@1" else None) for row in found]

    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(rows, pairs):
            yield from found


def chosen_pairs(suite: SuiteCells, settings: Settings) -> list[tuple[int, int]]:
    """The family of comparisons, fixed before any difference is looked at except for which arm is best."""
    known = [a for a in range(len(suite.arms)) if suite.n[:, a].any()]
    if len(known) <= settings.all_pairs_at_most:
        return list(combinations(known, 2))
    rates = {a: float(np.mean(suite.c[suite.n[:, a] > 0, a] / suite.n[suite.n[:, a] > 0, a])) for a in known}
    best = max(known, key=lambda a: (rates[a], -a))
    pairs = {(min(best, a), max(best, a)) for a in known if a != best}
    for a, b in combinations(known, 2):
        if (suite.arms[a].agent, suite.arms[a].lane) == (suite.arms[b].agent, suite.arms[b].lane):
            pairs.add((a, b))
    return sorted(pairs)


def profile_of(profiles: Grouped, arm: ArmName) -> Grouped:
    """The profile rows of one arm."""
    mask = np.ones(len(profiles), dtype=bool)
    for name in ("suite", "agent", "resources", "lane"):
        wanted = getattr(arm, name)
        mask &= profiles.keys[name].mask(lambda value, wanted=wanted: str(value) == wanted)  # type: ignore[misc]
    return profiles.where(mask)
