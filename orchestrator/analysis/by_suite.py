"""The part of a summary that is of one suite: arms are compared, drawn and printed within a suite."""

from dataclasses import replace
from typing import Any

from orchestrator.analysis.tables import TABLES, Summary


def suites_of(summary: Summary) -> tuple[str, ...]:
    """The suites that have arms, in the order of the arms."""
    return tuple(dict.fromkeys(row.arm.suite for row in summary.arms))


def of_suite(summary: Summary, suite: str) -> Summary:
    """The rows of one suite; provenance, findings and notes stay those of the whole."""
    parts: dict[str, Any] = {
        name: tuple(row for row in getattr(summary, name) if _suite(row) == suite)
        for name in TABLES
        if name != "integrity"
    }
    return replace(summary, **parts)


def _suite(row: Any) -> str:
    return str(row.arm.suite if hasattr(row, "arm") else row.suite)
