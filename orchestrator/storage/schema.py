"""The Arrow schema of `trials`, made from the pure list of columns."""

import pyarrow as pa

from orchestrator.core.columns import COLUMNS, PARTITION_KEYS, SCHEMA_VERSION

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


def without_partition_keys(table: pa.Table) -> pa.Table:
    """What a file holds of a table. The columns of its path stand there alone: pyarrow and pandas give such columns
    types of their own, and refuse a folder whose files have them too.
    """
    return table.drop_columns([name for name in PARTITION_KEYS if name in table.column_names])
