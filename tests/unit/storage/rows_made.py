"""Rows for tests of the storage, with only what a test is about."""

from orchestrator.core.columns import SCHEMA_VERSION, empty_row


def make_row(number: int = 0, attempt: int = 0, **columns: object) -> dict[str, object]:
    """A row that fits the schema; `number` tells trials apart."""
    key = f"k{number:04d}"
    row: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "sweep": "s-1",
        "suite": "suite",
        "task": f"t{number}",
        "agent": "a",
        "resources": "1x",
        "lane": "live",
        "arm": "a/1x/live",
        "wave": 0,
        "day": "2026-01-01",
        "repeat": 0,
        "attempt": attempt,
        "final": True,
        "trial_key": key,
        "attempt_id": f"{key}-{attempt}",
        "status": "PASSED",
        "origin": "agent",
        "suspect": False,
        "started_at": "2026-01-01T00:00:00+00:00",
        "finished_at": "2026-01-01T00:00:01+00:00",
    }
    return empty_row() | row | columns
