"""Adjusting p-values over the comparisons of one summary; the family is what was compared, per statistic."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analysis.context import Settings
from orchestrator.analysis.tables import ComparisonRow
from orchestrator.stats.multiple import holm


def adjusted(rows: Sequence[ComparisonRow], settings: Settings) -> tuple[ComparisonRow, ...]:
    """The rows with Holm's p within suite and statistic; "higher" and "lower" hold at the adjusted p only."""
    found = list(rows)
    for key in dict.fromkeys((row.suite, row.statistic) for row in rows):
        places = [i for i, row in enumerate(rows) if (row.suite, row.statistic) == key and row.p_value is not None]
        values = [float(rows[i].p_value or 0.0) for i in places]
        for i, p in zip(places, holm(values), strict=True):
            row = rows[i]
            verdict = row.equivalence
            if verdict in ("higher", "lower") and p >= 1 - settings.level:
                verdict = "undecided"
            found[i] = replace(row, p_adjusted=float(p), adjustment=f"Holm over {len(places)}", equivalence=verdict)
    return tuple(found)
