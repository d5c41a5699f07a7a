"""The tables of a summary as plain rows: one dictionary for each row, with the columns that files and frames have."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from orchestrator.analysis.estimand import Estimand, Number
from orchestrator.analysis.tables import TABLES, ArmName, Summary


def flat(row: object) -> dict[str, object]:
    """A row as plain columns: an arm's and a number's fields stand by their own names, an estimand's prefixed."""
    out: dict[str, object] = {}
    kind: Any = type(row)
    for name in _names(kind):
        value = getattr(row, name)
        if isinstance(value, ArmName):
            out |= {"suite": value.suite, "agent": value.agent, "resources": value.resources, "lane": value.lane}
        elif isinstance(value, Estimand):
            out |= {f"estimand_{part}": getattr(value, part) for part in _names(Estimand)}
            out["sentence"] = value.sentence() if "sentence" not in out else out["sentence"]
        elif isinstance(value, Number):
            prefix = "" if name == "number" else f"{name}_"
            out |= {prefix + part: getattr(value, part) for part in _names(Number)}
        else:
            out[name] = value
    return out


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def table(summary: Summary, name: str) -> list[dict[str, object]]:
    """One table as plain rows."""
    return [flat(row) for row in getattr(summary, name)]


def tables(summary: Summary) -> Mapping[str, list[dict[str, object]]]:
    """All tables as plain rows."""
    return {name: table(summary, name) for name in TABLES}
