"""Adjusting p-values over the comparisons of one summary; the family is what was compared, per statistic."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analysis.context import Settings
from orchestrator.analysis.contrasts import verdict
from orchestrator.analysis.tables import ComparisonRow
from orchestrator.stats.multiple import holm


def adjusted(rows: Sequence[ComparisonRow], settings: Settings) -> tuple[ComparisonRow, ...]:
    """The rows with Holm's p within suite and statistic; a verdict holds at the adjusted p only.

    Claims of equivalence are a family of their own and are adjusted in the same way.
    """
    found = list(rows)
    for key in dict.fromkeys((row.suite, row.statistic) for row in rows):
        places = [i for i, row in enumerate(rows) if (row.suite, row.statistic) == key and row.p_value is not None]
        apart = holm([float(rows[i].p_value or 0.0) for i in places])
        tested = [i for i in places if rows[i].p_equivalent is not None]
        alike = dict(zip(tested, holm([float(rows[i].p_equivalent or 0.0) for i in tested]).tolist(), strict=True))
        for i, p in zip(places, apart.tolist(), strict=True):
            told = verdict(rows[i], p, alike.get(i), settings)
            sentence = rows[i].sentence.replace(f": {rows[i].equivalence}.", f": {told}.")
            found[i] = replace(
                rows[i], p_adjusted=p, adjustment=f"Holm over {len(places)}", equivalence=told, sentence=sentence
            )
    return tuple(found)
