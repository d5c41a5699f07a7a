"""A results root on a local disk and on an object store: the same names, the same rows."""

from collections import Counter
from pathlib import Path

import pytest
import zstandard

from orchestrator.storage.compaction import compact
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from tests.unit.storage.rows_made import make_row


def test_files_are_whole_or_not_there_and_are_listed_by_name(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.write("a/b/two.parquet", b"22")
    root.write("a/one.parquet", b"1")
    root.write("a/_note.json", b"{}")
    root.write("a/b/two.parquet", b"333")
    assert list(root.list_files("a", ".parquet")) == [("a/b/two.parquet", 3), ("a/one.parquet", 1)]
    assert root.read("a/b/two.parquet") == b"333"
    assert not list(tmp_path.rglob("*.tmp"))
    root.remove("a/one.parquet")
    root.remove("a/one.parquet")
    assert not root.exists("a/one.parquet")
    assert list(root.list_files("nowhere")) == []
    with pytest.raises(FileNotFoundError):
        root.read("a/one.parquet")


def test_bytes_come_back_as_they_went_whatever_the_name_says(tmp_path: Path) -> None:
    packed = zstandard.compress(b"words")
    for name in ("a.tar.zst", "b.gz", "c.bin"):
        Root(tmp_path).write(name, packed)
        assert Root(tmp_path).read(name) == packed


def test_a_write_that_fails_leaves_the_old_file_and_nothing_aside(tmp_path: Path) -> None:
    root = Root(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").write_text("old")
    with pytest.raises(OSError, match="irectory"):
        root.write("taken", b"new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["taken"]


def test_a_location_that_is_no_root_is_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"carrier-pigeon://x is not a results root.*use a folder or s3"):
        Root("carrier-pigeon://x")


def test_what_must_be_locked_stands_on_this_machine_also_for_a_remote_root(tmp_path: Path) -> None:
    one = Root("s3://bucket/one?region=us-east-1", tmp_path).local_folder("sweeps/s-1")
    two = Root("s3://bucket/two?region=us-east-1", tmp_path).local_folder("sweeps/s-1")
    assert one != two
    assert all(folder.is_relative_to(tmp_path) for folder in (one, two))


@pytest.mark.slow
def test_rows_on_an_object_store_are_stored_compacted_and_read(bucket: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root = Root(bucket)
    assert list(scan(root)) == []
    with RowStore(root, "s-1", "w1") as store:
        for number in range(3):
            store.add(make_row(number, suite="a b"))
            store.seal()
        store.add(make_row(3))
        store.commit()
        assert compact(bucket) == (3, 1)
        store.seal()
    found = Counter(i for table in scan(root, ["attempt_id"]) for i in table.column("attempt_id").to_pylist())
    assert found == Counter(f"k{n:04d}-0" for n in range(4))
    assert len(list(root.list_files("trials", ".parquet"))) == 2
