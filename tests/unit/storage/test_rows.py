"""Rows, dimension tables and blobs: what is written is what is read, and what does not fit is named."""

import hashlib
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.core.columns import COLUMNS, NAMES, REQUIRED, SCHEMA_VERSION
from orchestrator.storage.dimensions import read_entry, write_entry
from orchestrator.storage.reading import ResultsError, list_rows, read_file, scan
from orchestrator.storage.root import Root
from orchestrator.storage.rows import RowError, check, to_table
from orchestrator.storage.schema import trials_schema
from orchestrator.storage.store import RowStore
from orchestrator.storage.transcripts import write_blob
from tests.unit.storage.rows_made import make_row


@pytest.fixture
def file(tmp_path: Path) -> tuple[Root, Path]:
    """A results root with one good file of two rows."""
    root = Root(tmp_path)
    with RowStore(root, "s-1", "w1") as store:
        for number in range(2):
            store.add(make_row(number))
        store.seal()
    return root, tmp_path / list_rows(root).files[0][0]


def test_every_type_of_column_survives() -> None:
    row = make_row(1, score=0.5, turns=3, passed=True, flags=["a", "b"], rewards={"reward": 0.5, "style": 1.0})
    (back,) = to_table([row]).to_pylist()
    assert back["started_at"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert back["day"] == date(2026, 1, 1)
    assert back["rewards"] == [("reward", 0.5), ("style", 1.0)]
    assert (back["score"], back["turns"], back["passed"], back["flags"]) == (0.5, 3, True, ["a", "b"])
    assert back["cost_usd"] is None


def test_the_schema_has_the_columns_in_order_with_their_meaning() -> None:
    schema = trials_schema()
    assert tuple(schema.names) == NAMES
    assert schema.metadata[b"passhat.schema_version"] == str(SCHEMA_VERSION).encode()
    assert {f.name for f in schema if not f.nullable} == REQUIRED
    assert [f.metadata[b"meaning"].decode() for f in schema] == [c.meaning for c in COLUMNS]


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_row_without_a_required_value_is_refused_by_name(name: str) -> None:
    with pytest.raises(RowError, match=f"column {name} is required"):
        check(make_row(**{name: None}))


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"colour": "red"}, "colour is not a column"),
        ({"turns": "three"}, "column turns"),
        ({"turns": 2**70}, "column turns"),
        ({"passed": "yes"}, "column passed"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_column(columns: dict[str, object], word: str) -> None:
    with pytest.raises(RowError, match=word):
        to_table([make_row(**columns)])


def test_a_file_of_a_newer_schema_is_refused_with_a_sentence(file: tuple[Root, Path]) -> None:
    root, path = file
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.replace_schema_metadata({"passhat.schema_version": str(SCHEMA_VERSION + 1)}), path)
    with pytest.raises(ResultsError, match=rf"{path.name} has schema version {SCHEMA_VERSION + 1}.*upgrade passhat"):
        list(scan(root))
    assert list(scan(root, strict=False)) == []


@pytest.mark.parametrize(
    "tear",
    [
        lambda data: b"",
        lambda data: data[:8],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:-8] + b"\xff" * 4 + data[-4:],
        lambda data: b"this is no parquet file at all",
    ],
)
def test_an_empty_or_torn_file_is_named_and_never_passed_over(
    file: tuple[Root, Path], tear: Callable[[bytes], bytes]
) -> None:
    root, path = file
    path.write_bytes(tear(path.read_bytes()))
    with pytest.raises(ResultsError, match=path.name):
        list(scan(root))
    assert list(scan(root, strict=False)) == []


def test_columns_an_older_file_does_not_have_are_unknown(file: tuple[Root, Path]) -> None:
    root, path = file
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.drop_columns(["turns", "flags"]), path)
    found = read_file(root, str(path.relative_to(root.location)), ["task", "turns", "flags"])
    assert found.to_pylist() == [{"task": f"t{n}", "turns": None, "flags": None} for n in range(2)]
    assert found.schema.field("turns").type == pa.int64()


def test_a_scan_gives_the_columns_asked_for_of_the_sweep_asked_for(tmp_path: Path) -> None:
    root = Root(tmp_path)
    with RowStore(root, "s-1", "w1") as store:
        for number, sweep in enumerate(("s-1", "s-2", "s-1")):
            store.add(make_row(number, sweep=sweep))
        store.seal()
        store.add(make_row(3))
        store.add(make_row(4, sweep="s-2"))
        store.commit()
        tables = list(scan(root, ["task", "wave"], "s-1"))
    assert [t.column_names for t in tables] == [["task", "wave"]] * 2
    assert [t for table in tables for t in table.column("task").to_pylist()] == ["t0", "t2", "t3"]


def test_hidden_and_half_written_files_are_no_rows(file: tuple[Root, Path]) -> None:
    root, path = file
    (path.parent / f".{path.name}.123.tmp").write_bytes(b"half")
    (path.parent / f".{path.name}").write_bytes(b"half")
    assert sum(len(t) for t in scan(root)) == 2


def test_an_entry_is_written_once_and_read_back_flat(tmp_path: Path) -> None:
    root = Root(tmp_path)
    write_entry(root, "hosts", "h1", {"cpu": "x", "cores": [0, 1], "turbo": None, "count": 2})
    write_entry(root, "hosts", "h1", {"cpu": "other"})
    assert read_entry(root, "hosts", "h1") == {"key": "h1", "cpu": "x", "cores": "[0, 1]", "turbo": None, "count": 2}
    with pytest.raises(FileNotFoundError):
        read_entry(root, "hosts", "h2")
    with pytest.raises(ValueError, match="colours is not one of hosts, images"):
        write_entry(root, "colours", "c", {})


def test_a_blob_stands_under_its_attempt_with_its_hash(tmp_path: Path) -> None:
    name, digest = write_blob(Root(tmp_path), "s-1", "abcd-0", ".jsonl.zst", b"said")
    assert name == "transcripts/s-1/ab/abcd-0.jsonl.zst"
    assert (tmp_path / name).read_bytes() == b"said"
    assert digest == hashlib.sha256(b"said").hexdigest()
