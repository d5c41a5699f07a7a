"""Compaction: fewer files and the same rows, also when it dies at any step."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.storage import journal
from orchestrator.storage.compaction import compact
from orchestrator.storage.joining import NOTE
from orchestrator.storage.reading import ResultsError, list_rows, scan
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore, read_segment, write_parquet
from tests.unit.storage.rows_made import make_row

EVERY = Counter(f"k{n:04d}-0" for n in range(4))


def ids(root: Root) -> Counter[str]:
    return Counter(i for table in scan(root, ["attempt_id"]) for i in table.column("attempt_id").to_pylist())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of one row each, in two partitions."""
    folder = tmp_path_factory.mktemp("made")
    with RowStore(Root(folder), "s-1", "w1") as store:
        for number in range(4):
            store.add(make_row(number, agent="ab"[number % 2], rewards={"reward": 1.0}, flags=["x"]))
            store.seal()
    return folder


@pytest.fixture
def location(made: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(made, tmp_path / "results"))


def test_each_partition_becomes_one_file_with_the_same_rows(location: str) -> None:
    before = sorted((r for t in scan(Root(location)) for r in t.to_pylist()), key=lambda r: r["attempt_id"])
    assert compact(location) == (4, 2)
    after = sorted((r for t in scan(Root(location)) for r in t.to_pylist()), key=lambda r: r["attempt_id"])
    assert after == before
    assert len(list(Root(location).list_files("trials", ".parquet"))) == 2
    assert compact(location) == (2, 2)


class Killed(Exception):
    """What stands for the process's end."""


@pytest.mark.parametrize("step", range(12))
def test_a_crash_at_any_step_loses_and_doubles_nothing(
    location: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [step]

    def mortal(name: str) -> None:
        plain = getattr(Root, name)

        def call(self: Root, *args: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return plain(self, *args)

        monkeypatch.setattr(Root, name, call)

    with monkeypatch.context():
        mortal("write")
        mortal("remove")
        try:
            compact(location)
            finished = True
        except Killed:
            finished = False
    monkeypatch.undo()
    assert ids(Root(location)) == EVERY
    assert finished == (step >= 11)
    assert compact(location)[1] == 2
    assert ids(Root(location)) == EVERY
    assert not Root(location).exists(NOTE)


def test_files_of_a_segment_that_still_exists_are_left_to_its_recovery(location: str) -> None:
    root = Root(location)
    with RowStore(root, "s-1", "w2") as store:
        store.add(make_row(4))
        store.commit()
    (segment,) = journal.segments(root.local_folder("sweeps/s-1/journal"))
    write_parquet(root, segment, read_segment(segment).rows)
    compact(location)
    with RowStore(root, "s-1", "w3") as store:
        store.recover()
    assert ids(root) == EVERY + Counter(["k0004-0"])


def test_files_are_joined_up_to_a_size(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = max(size for _, size in list_rows(Root(location)).files)
    monkeypatch.setattr("orchestrator.storage.compaction.TARGET_BYTES", size)
    assert compact(location) == (4, 4)
    assert ids(Root(location)) == EVERY


def test_a_file_that_cannot_be_read_stops_it_before_anything_is_removed(location: str) -> None:
    path = Path(location) / list_rows(Root(location)).files[1][0]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ResultsError, match=path.name):
        compact(location)
    assert len(list(Root(location).list_files("trials", ".parquet"))) == 4
