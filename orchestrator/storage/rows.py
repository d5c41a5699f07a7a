"""Plain rows -> an Arrow table of the trials schema, checked. JSON values in, Arrow types out."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime

import pyarrow as pa

from orchestrator.core.columns import COLUMNS, NAMES, REQUIRED
from orchestrator.storage.schema import trials_schema


class RowError(ValueError):
    """A row that does not fit the schema."""


def check(row: Mapping[str, object]) -> None:
    """Raise RowError, naming the column, for an unknown or missing column."""
    unknown = sorted(set(row) - set(NAMES))
    if unknown:
        raise RowError(f"{unknown[0]} is not a column of trials")
    missing = sorted(name for name in REQUIRED if row.get(name) is None)
    if missing:
        raise RowError(f"column {missing[0]} is required and has no value")


def to_table(rows: Iterable[Mapping[str, object]]) -> pa.Table:
    """One row per mapping; absent columns are null. Raises RowError."""
    listed = list(rows)
    schema = trials_schema()
    for row in listed:
        check(row)
    arrays = []
    for column, field in zip(COLUMNS, schema, strict=True):
        values = [_convert(column.type, row.get(column.name)) for row in listed]
        try:
            arrays.append(pa.array(values, type=field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise RowError(f"column {column.name}: {error}") from None
    return pa.Table.from_arrays(arrays, schema=schema)


def _convert(kind: str, value: object) -> object:
    if value is None:
        return None
    if kind == "time":
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    if kind == "day":
        return date.fromisoformat(value) if isinstance(value, str) else value
    if kind == "map":
        assert isinstance(value, Mapping)
        return list(value.items())
    return value
