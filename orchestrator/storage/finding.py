"""Finds rows by attempt id, trial key or task name."""

import pyarrow.compute as pc

from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root

ORDER = ("sweep", "task", "arm", "wave", "repeat", "attempt")


def find_rows(location: str, what: str) -> list[dict[str, object]]:
    """All columns of the rows whose attempt_id, trial_key or task is `what`, in a fixed order."""
    found: list[dict[str, object]] = []
    for table in scan(Root(location)):
        hit = pc.or_(pc.equal(table["task"], what), pc.equal(table["trial_key"], what))
        found += table.filter(pc.or_(hit, pc.equal(table["attempt_id"], what))).to_pylist()
    return sorted(found, key=lambda row: tuple(str(row[name]).zfill(8) for name in ORDER))
