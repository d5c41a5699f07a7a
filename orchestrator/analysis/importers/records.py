"""Rows of a CSV, JSONL or Parquet file one by one; a row that is torn is refused."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.analysis.importers.base import Refused, UnreadableImportError


def records(path: Path) -> Iterator[Mapping[str, object] | Refused]:
    """Rows one by one. Raises UnreadableImportError where the file is no such table at all."""
    try:
        if path.suffix == ".parquet":
            for batch in pq.ParquetFile(path).iter_batches():
                yield from batch.to_pylist()
        elif path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield _json_line(line, f"{path.name}:{number}")
        else:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                reader = csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
                yield from (_csv_row(row, f"{path.name}:{reader.line_num}") for row in reader)
    except (pa.ArrowException, csv.Error, UnicodeDecodeError) as error:
        raise UnreadableImportError(
            f"{path} was asked for as a table, but cannot be read ({str(error).splitlines()[0]}): it may be cut off."
        ) from None


def _csv_row(row: dict[str | None, object], source: str) -> Mapping[str, object] | Refused:
    """A row with fewer or more fields than the header has columns is refused: its values may be anybody's."""
    if None in row or None in row.values():
        return Refused(source, "the row has another number of fields than the header: it may be cut off")
    return {str(name): value for name, value in row.items()}


def _json_line(line: str, source: str) -> Mapping[str, object] | Refused:
    try:
        record = json.loads(line)
    except ValueError as error:
        return Refused(source, f"the line is no JSON ({error}); it may be cut off")
    return record if isinstance(record, dict) else Refused(source, "the line is no JSON object")
