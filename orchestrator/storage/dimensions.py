"""Content-addressed dimension tables: hosts/, images/, tasks/, agents/, resources/. Written once per content.

Each entry is one small Parquet file named by its key, so that writing it again is harmless and any reader
can join `trials` with the folder.
"""

import io
import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.storage.root import Root

KINDS = ("hosts", "images", "tasks", "agents", "resources")


def write_entry(root: Root, kind: str, key: str, fields: Mapping[str, object]) -> None:
    """Write one entry unless it is there; nested values are stored as JSON text.

    Raises ValueError for a kind that does not exist.
    """
    if kind not in KINDS:
        raise ValueError(f"{kind} is not one of {', '.join(KINDS)}")
    name = f"{kind}/{key}.parquet"
    if root.exists(name):
        return
    flat = {"key": key, **{k: _flat(v) for k, v in fields.items()}}
    table = pa.table({k: pa.array([v]) if v is not None else pa.array([None], pa.string()) for k, v in flat.items()})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    root.write(name, buffer.getvalue())


def read_entry(root: Root, kind: str, key: str) -> dict[str, object]:
    """The fields of one entry as they were flattened. Raises FileNotFoundError."""
    table = pq.read_table(io.BytesIO(root.read(f"{kind}/{key}.parquet")))
    return dict(table.to_pylist()[0])


def _flat(value: object) -> object:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, sort_keys=True, default=str)
