"""A summary as files: one Parquet and one JSON file for each table, and its provenance, under its own id."""

import json
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.analysis import tables as shapes
from orchestrator.analysis.estimand import Estimand, Number
from orchestrator.analysis.integrity import Finding
from orchestrator.analysis.plain import table
from orchestrator.analysis.tables import TABLES, Summary
from orchestrator.storage.root import Root

_ROW_TYPES: Mapping[str, type] = {
    "arms": shapes.ArmRow,
    "curves": shapes.CurveRow,
    "tasks": shapes.TaskRow,
    "runs": shapes.RunRow,
    "run_summaries": shapes.RunSummaryRow,
    "variance": shapes.VarianceRow,
    "days": shapes.DayRow,
    "factors": shapes.FactorRow,
    "comparisons": shapes.ComparisonRow,
    "resources": shapes.ResourceRow,
    "costs": shapes.CostRow,
    "judges": shapes.JudgeRow,
    "ranks": shapes.RankRow,
    "resource_effects": shapes.EffectRow,
    "drift": shapes.EffectRow,
    "judge_effects": shapes.EffectRow,
    "integrity": Finding,
}
_ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def arrow_schema(name: str) -> pa.Schema:
    """The columns of one table, whatever it holds."""
    return pa.schema(_fields(_ROW_TYPES[name]))


def _fields(shape: type, prefix: str = "") -> list[pa.Field]:
    found: list[pa.Field] = []
    hints = typing.get_type_hints(shape)
    for item in fields(shape):
        kind = _bare(hints[item.name])
        if kind is Estimand:
            found += _fields(kind, "estimand_")
            if not any(field.name == "sentence" for field in found) and "sentence" not in hints:
                found.append(pa.field("sentence", pa.string()))
        elif kind is Number:
            found += _fields(kind, "" if item.name == "number" else f"{item.name}_")
        elif is_dataclass(kind):
            found += _fields(typing.cast(type, kind))
        else:
            found.append(pa.field(prefix + item.name, _ARROW[typing.cast(type, kind)]))
    return found


def _bare(hint: object) -> object:
    if isinstance(hint, types.UnionType):
        return next(part for part in typing.get_args(hint) if part is not type(None))
    return hint


def arrow_table(summary: Summary, name: str) -> pa.Table:
    """One table of a summary in Arrow."""
    return _arrow(table(summary, name), name)


def _arrow(rows: Sequence[Mapping[str, object]], name: str) -> pa.Table:
    schema = arrow_schema(name)
    columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def save(summary: Summary, root: str) -> str:
    """Write results/summary/<id>/ and return that name; the provenance last, so that its presence says all is there."""
    place = Root(root)
    folder = f"summary/{summary.provenance.summary_id}"
    for name in TABLES:
        rows = table(summary, name)
        sink = pa.BufferOutputStream()
        pq.write_table(_arrow(rows, name), sink, compression="zstd")
        place.write(f"{folder}/{name}.parquet", sink.getvalue().to_pybytes(), durable=False)
        place.write(f"{folder}/{name}.json", dump(rows), durable=False)
    place.write(f"{folder}/provenance.json", dump(asdict(summary.provenance)), durable=False)
    return folder


def dump(value: object) -> bytes:
    """JSON without NaN, the same bytes for the same value; a list has one line for each of its members."""
    if not isinstance(value, list):
        return (json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()
    # Whole rows at once: with an indent Python's encoder is 10 times slower.
    lines = ",\n".join(json.dumps(row, allow_nan=False, ensure_ascii=False) for row in value)
    return f"[\n{lines}\n]\n".encode() if value else b"[]\n"
