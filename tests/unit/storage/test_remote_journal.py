"""The journal on an object store: every committed row once for every reader on every machine, wherever its writer died."""

from collections import Counter

import pytest

from orchestrator.analysis.rows import read_chunks as read_rows
from orchestrator.analysis.rows import row_files
from orchestrator.execution.driver import Driver
from orchestrator.storage.reading import scan
from orchestrator.storage.remote_journal import ReplacedError, remote_segments
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore, journal_folder, open_segments, publish, read_segment, write_parquet
from tests.unit.execution.scripted import HANGS, ScriptedCluster, drive
from tests.unit.execution.test_driver import make_jobs
from tests.unit.storage.rows_made import make_row

pytestmark = pytest.mark.slow


def begun(number: int) -> dict[str, object]:
    return {"attempt_id": f"k{number:04d}-0", "job": {}}


def ids(root: Root) -> Counter[str]:
    return Counter(i for table in scan(root, ["attempt_id"]) for i in table.column("attempt_id").to_pylist())


def once(*numbers: int) -> Counter[str]:
    return Counter(f"k{n:04d}-0" for n in numbers)


def objects(root: Root) -> list[str]:
    return [path.rpartition("/")[2] for path, _ in root.list_files(journal_folder("s-1"))]


@pytest.fixture
def root(bucket: str) -> Root:
    return Root(bucket)


def test_committed_rows_are_read_by_others_before_they_are_files_and_after(root: Root, bucket: str) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.begin(begun(0))
        store.add(make_row(0))
        assert ids(Root(bucket)) == once()
        store.commit()
        store.commit()
        store.add(make_row(1))
        store.commit()
        assert ids(Root(bucket)) == once(0, 1)
        (file,) = row_files([bucket])
        assert [c.table.column("attempt_id").to_pylist() for c in read_rows(file, ["attempt_id"])] == [
            ["k0000-0", "k0001-0"]
        ]
        store.seal()
    assert ids(Root(bucket)) == once(0, 1)
    assert objects(root) == ["writer"]
    assert len(list(root.list_files("trials", ".parquet"))) == 1


def test_an_attempt_that_is_begun_is_known_to_others_long_before_it_ends(root: Root, bucket: str) -> None:
    known: list[list[dict[str, object]]] = []

    def look(driver: Driver, polls: int) -> None:
        found = open_segments(root, "s-1")
        known.append([fields for segment in found for fields in read_segment(segment).begun])
        if polls >= 30:
            driver.abort("enough")

    cluster = ScriptedCluster(lambda _: HANGS, on_poll=look)
    drive(bucket, cluster, make_jobs(2))
    assert {str(fields["attempt_id"]) for fields in known[-1]} == {"k000-0", "k001-0"}
    assert len(known) == 30


def test_another_machine_recovers_what_a_dead_writer_committed_and_what_it_had_begun(root: Root) -> None:
    dead = RowStore(root, "s-1", "w1")
    for number in range(3):
        dead.begin(begun(number))
    dead.add(make_row(0))
    dead.commit()
    dead.add(make_row(1))
    with RowStore(root, "s-1", "w2") as store:
        found = store.recover()
        assert [row["attempt_id"] for row in found.rows] == ["k0000-0"]
        assert [fields["attempt_id"] for fields in found.begun] == ["k0001-0", "k0002-0"]
        assert ids(root) == once(0)
    with RowStore(root, "s-1", "w3") as store:
        assert [fields["attempt_id"] for fields in store.recover().begun] == ["k0001-0", "k0002-0"]


def test_a_writer_that_was_replaced_commits_nothing_more(root: Root) -> None:
    cut_off = RowStore(root, "s-1", "w1")
    cut_off.add(make_row(0))
    cut_off.commit()
    with RowStore(root, "s-1", "w2") as store:
        store.recover()
        cut_off.add(make_row(1))
        with pytest.raises(ReplacedError, match=r"another controller \(w2\) has taken this sweep over"):
            cut_off.commit()
        cut_off.close()
        assert ids(root) == once(0)


@pytest.mark.parametrize("stage", ["files there", "marker there", "chunks half gone", "chunks gone"])
def test_a_crash_at_any_point_of_publishing_counts_each_row_once(root: Root, stage: str) -> None:
    with RowStore(root, "s-1", "w1") as store:
        for number in range(3):
            store.add(make_row(number))
            store.commit()
    (segment,) = remote_segments(root, journal_folder("s-1"))
    write_parquet(root, segment, read_segment(segment).rows)
    if stage != "files there":
        root.write(str(segment.path.with_suffix(".done")), b"")
    gone = {"chunks half gone": 2, "chunks gone": 3}.get(stage, 0)
    for name in segment.chunks[:gone]:
        root.remove(name)
    assert ids(root) == once(0, 1, 2)
    with RowStore(root, "s-1", "w2") as store:
        store.recover()
        assert ids(root) == once(0, 1, 2)
    assert objects(root) == ["writer"]


def test_a_segment_that_is_published_while_it_is_read_is_read_from_its_files(root: Root, monkeypatch) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.add(make_row(0))
        store.commit()
    listed = open_segments(root)
    publish(root, listed[0], read_segment(listed[0]).rows)
    monkeypatch.setattr("orchestrator.storage.reading.open_segments", lambda *_: listed)
    assert ids(root) == once(0)


def test_a_damaged_chunk_is_named_and_kept_aside(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.add(make_row(0))
        store.commit()
        store.add(make_row(1))
        store.commit()
    (segment,) = remote_segments(root, journal_folder("s-1"))
    data = bytearray(root.read(segment.chunks[0]))
    data[20] ^= 1
    root.write(segment.chunks[0], bytes(data))
    with RowStore(root, "s-1", "w2") as store:
        (damage,) = store.recover().damage
        assert str(damage).endswith("line 1 is damaged")
    assert ids(root) == once(1)
    assert "w1-000000.damaged" in objects(root)
