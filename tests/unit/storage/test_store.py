"""The store: every committed row is there once for every reader, wherever its writer died."""

from collections import Counter
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from orchestrator.storage import journal
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore, partition_folder, read_segment, write_parquet
from tests.unit.storage.rows_made import make_row


def begun(number: int) -> dict[str, object]:
    return {"attempt_id": f"k{number:04d}-0", "job": {}}


def ids(root: Root) -> Counter[str]:
    return Counter(i for table in scan(root, ["attempt_id"]) for i in table.column("attempt_id").to_pylist())


def once(count: int) -> Counter[str]:
    return Counter(f"k{n:04d}-0" for n in range(count))


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "results")


def journals(root: Root) -> list[str]:
    return [s.path.name for s in journal.segments(root.local_folder("sweeps/s-1/journal"))]


def test_rows_are_read_from_the_journal_and_then_from_files(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        for number in range(4):
            store.add(make_row(number, day=f"2026-01-0{1 + number % 2}"))
        store.commit()
        assert ids(root) == once(4)
        store.seal()
        assert ids(root) == once(4)
        assert journals(root) == []
    assert len(list(root.list_files("trials", ".parquet"))) == 2


def test_a_crash_between_files_and_the_journals_end_counts_each_row_once(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        for number in range(4):
            store.add(make_row(number))
        store.commit()
    (segment,) = journal.segments(root.local_folder("sweeps/s-1/journal"))
    write_parquet(root, segment, read_segment(segment).rows)
    assert ids(root) == once(4)
    with RowStore(root, "s-1", "w2") as store:
        store.recover()
    assert ids(root) == once(4)
    assert journals(root) == []


def test_a_seal_carries_attempts_that_still_run_into_the_next_segment(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.begin(begun(0))
        store.begin(begun(1))
        store.add(make_row(0))
        store.commit()
        store.seal()
    with RowStore(root, "s-1", "w2") as store:
        assert [b["attempt_id"] for b in store.recover().begun] == ["k0001-0"]


def test_a_seal_that_was_cut_short_leaves_no_attempt_begun_twice(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.begin(begun(0))
        store.commit()
    folder = root.local_folder("sweeps/s-1/journal")
    (folder / "w1-000001.jsonl").write_bytes((folder / "w1-000000.jsonl").read_bytes())
    with RowStore(root, "s-1", "w2") as store:
        assert len(store.recover().begun) == 1


def test_an_attempt_whose_row_stands_in_a_later_segment_has_ended(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.begin(begun(0))
        store.commit()
    with RowStore(root, "s-1", "w2") as store:
        store.add(make_row(0))
        store.commit()
    with RowStore(root, "s-1", "w3") as store:
        assert store.recover().begun == []
    assert ids(root) == once(1)


def test_recovery_that_dies_itself_still_knows_what_was_begun(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.begin(begun(0))
        store.begin(begun(1))
        store.add(make_row(0))
        store.commit()
    with RowStore(root, "s-1", "w2") as store:
        store.recover()
    with RowStore(root, "s-1", "w3") as store:
        found = store.recover()
        assert [b["attempt_id"] for b in found.begun] == ["k0001-0"]
        store.add(make_row(1))
        store.commit()
        store.seal()
    assert ids(root) == once(2)
    assert journals(root) == []


def test_a_torn_tail_is_told_and_what_stood_before_it_is_kept(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.add(make_row(0))
        store.commit()
    path = root.local_folder("sweeps/s-1/journal") / "w1-000000.jsonl"
    path.write_bytes(path.read_bytes() + b"0123abcd {half")
    with RowStore(root, "s-1", "w2") as store:
        (damage,) = store.recover().damage
    assert damage.torn
    assert ids(root) == once(1)


def test_a_damaged_segment_is_kept_beside_the_rows_that_could_be_read(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        for number in range(3):
            store.add(make_row(number))
        store.commit()
    path = root.local_folder("sweeps/s-1/journal") / "w1-000000.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"task":"t1"', b'"task":"tX"'))
    with RowStore(root, "s-1", "w2") as store:
        (damage,) = store.recover().damage
    assert (damage.line, damage.torn) == (2, False)
    assert set(ids(root)) == {"k0000-0", "k0002-0"}
    assert path.with_suffix(".damaged").is_file()
    with RowStore(root, "s-1", "w3") as store:
        assert store.recover().rows == []


def test_a_segment_that_has_grown_large_becomes_files_by_itself(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.storage.store.ROWS_PER_SEGMENT", 3)
    with RowStore(root, "s-1", "w1") as store:
        for number in range(7):
            store.add(make_row(number))
            store.commit()
        assert len(list(root.list_files("trials", ".parquet"))) == 2
        assert ids(root) == once(7)


def test_a_reader_that_began_before_a_seal_reads_to_the_end(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.add(make_row(0))
        store.commit()
        store.seal()
        store.add(make_row(1))
        store.commit()
        tables = scan(root, ["attempt_id"])
        found = next(tables).column("attempt_id").to_pylist()
        store.seal()
        found += [i for table in tables for i in table.column("attempt_id").to_pylist()]
    assert Counter(found) == once(2)


def test_values_of_partitions_are_encoded_as_hive_readers_expect() -> None:
    row = make_row(suite="a/b c", agent="x=y", resources="1x")
    assert partition_folder(row) == "trials/suite=a%2Fb%20c/agent=x%3Dy/resources=1x/day=2026-01-01"


def test_a_writer_is_named_in_letters_and_digits(root: Root) -> None:
    with pytest.raises(ValueError, match="letters and digits"):
        RowStore(root, "s-1", "w-1")


@pytest.mark.parametrize("reader", ["pyarrow", "dataset", "pandas", "polars", "duckdb", "ours"])
def test_any_reader_opens_the_folder_and_finds_the_columns_of_the_path(tmp_path: Path, reader: str) -> None:
    names = {"suite": "a/b c", "agent": "x=y é", "resources": "1x"}
    with RowStore(Root(tmp_path), "s-1", "w1") as store:
        for number in range(4):
            day = f"2026-01-0{1 + number % 2}"
            store.add(make_row(number, **{**names, "agent": names["agent"] if number < 3 else "z"}, day=day))
        store.commit()
        store.seal()
    folder, wanted = tmp_path / "trials", [*names, "day", "attempt_id"]
    everything = f"{folder}/**/*.parquet"
    table = {
        "pyarrow": lambda: pq.read_table(folder),
        "dataset": lambda: ds.dataset(folder, partitioning="hive").to_table(),
        "pandas": lambda: pa.Table.from_pandas(pandas.read_parquet(folder)),
        "polars": lambda: polars.read_parquet(everything, hive_partitioning=True).to_arrow(),
        "duckdb": lambda: duckdb.sql(
            f"select * from read_parquet('{everything}', hive_partitioning = true)"
        ).to_arrow_table(),
        "ours": lambda: pa.concat_tables(scan(Root(tmp_path))),
    }[reader]()
    found = sorted(zip(*([str(v) for v in table.column(name).to_pylist()] for name in wanted), strict=True))
    assert found == sorted(
        ("a/b c", "x=y é" if number < 3 else "z", "1x", f"2026-01-0{1 + number % 2}", f"k{number:04d}-0")
        for number in range(4)
    )
