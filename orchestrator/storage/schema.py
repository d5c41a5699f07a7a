"""The Arrow schema of `trials`, made from the pure list of columns."""

import pyarrow as pa

from orchestrator.core.columns import COLUMNS, SCHEMA_VERSION

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "day": pa.date32(),
    "strings": pa.list_(pa.string()),
    "map": pa.map_(pa.string(), pa.float64()),
}


def trials_schema() -> pa.Schema:
    """One row per attempt; the schema's metadata holds the version."""
    fields = [
        pa.field(c.name, _TYPES[c.type], nullable=not c.required, metadata={"group": c.group, "meaning": c.meaning})
        for c in COLUMNS
    ]
    return pa.schema(fields, metadata={"passhat.schema_version": str(SCHEMA_VERSION)})
