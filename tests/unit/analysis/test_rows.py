"""Files that an older passhat wrote, or a newer one, are read or refused for what they are."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.analysis.cells import read_cells
from orchestrator.analysis.rows import RowsError, read_chunks, row_files
from orchestrator.analysis.simulate import Simulation, Truth
from orchestrator.core.columns import SCHEMA_VERSION


def rewrite(simulated: Path, root: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """The rows of a results folder again, each file changed."""
    for file in (simulated / "trials").rglob("*.parquet"):
        target = root / file.relative_to(simulated)
        target.parent.mkdir(parents=True)
        pq.write_table(change(pq.ParquetFile(file).read()), target)


def test_a_column_that_the_files_lack_is_null(simulated: Path, tmp_path: Path) -> None:
    rewrite(simulated, tmp_path, lambda table: table.drop_columns(["judge_version", "lane"]))
    files = row_files([str(tmp_path)])
    chunk = next(read_chunks(files[0], ["task", "judge_version"]))
    assert chunk.table is not None
    assert "judge_version" not in chunk.constants or chunk.constants["judge_version"] is None
    assert len(read_cells(files)) == len(read_cells(row_files([str(simulated)])))


def test_a_newer_schema_is_refused_even_where_columns_are_gone(simulated: Path, tmp_path: Path) -> None:
    newer = {"passhat.schema_version": str(SCHEMA_VERSION + 1)}
    rewrite(simulated, tmp_path, lambda table: table.drop_columns(["sweep", "lane"]).replace_schema_metadata(newer))
    with pytest.raises(RowsError, match=rf"schema version {SCHEMA_VERSION + 1}.*upgrade passhat"):
        read_cells(row_files([str(tmp_path)]))


def test_a_file_without_rows_adds_nothing(tmp_path: Path) -> None:
    Simulation.of(Truth(tasks=4, repeats=2)).write(tmp_path)
    whole = read_cells(row_files([str(tmp_path)]))
    (path,) = tmp_path.rglob("*.parquet")
    pq.write_table(pq.ParquetFile(path).read().slice(0, 0), path.with_name("part-empty-0000.parquet"))
    files = row_files([str(tmp_path)])
    assert len(files) == 2
    found = read_cells(files)
    assert found.to_table().equals(whole.to_table())
