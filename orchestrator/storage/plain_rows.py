"""Rows of other people's tables as plain mappings: JSONL or Parquet by the file's ending."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.storage.reading import ResultsError
from suites.importing import read_jsonl


def read_rows(file: Path) -> list[dict[str, object]]:
    """All rows, at least one. Raises ResultsError for a file that cannot be read, TaskError for bad JSONL."""
    rows = _parquet(file) if file.suffix == ".parquet" else [dict(row) for row in read_jsonl(file)]
    if not rows:
        raise ResultsError(f"{file} holds no rows; give a Parquet or JSONL file with one row for each task")
    return rows


def _parquet(file: Path) -> list[dict[str, object]]:
    try:
        return list(pq.read_table(file).to_pylist())
    except (pa.ArrowInvalid, OSError) as error:
        raise ResultsError(
            f"{file} cannot be read ({str(error).splitlines()[0]}); give a Parquet or JSONL file"
        ) from None
