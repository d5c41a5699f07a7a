"""The journal: what was committed is read back, whatever cut it off; what is damaged is named."""

import errno
import os
import subprocess
import zlib
from pathlib import Path

import pytest

from orchestrator.storage.journal import Damage, JournalWriter, Segment, read, segments


def fields(number: int) -> dict[str, object]:
    return {"attempt_id": f"k{number}-0", "text": "ä\n" * number, "n": number}


def write(folder: Path, count: int = 3) -> Path:
    with JournalWriter(folder, "w1") as journal:
        for number in range(count):
            journal.begin(fields(number))
            journal.row(fields(number))
        journal.commit()
    return folder / "w1-000000.jsonl"


def test_records_are_read_back_in_order(tmp_path: Path) -> None:
    found = list(read(write(tmp_path)))
    assert found == [(kind, fields(n)) for n in range(3) for kind in ("begin", "row")]


def test_a_tail_cut_at_any_byte_loses_nothing_before_it_and_is_named(tmp_path: Path) -> None:
    path = write(tmp_path)
    data = path.read_bytes()
    starts = [i + 1 for i, byte in enumerate(data[:-1]) if byte == ord("\n")]
    torn = tmp_path / "w2-000000.jsonl"
    for length in range(len(data) + 1):
        torn.write_bytes(data[:length])
        complete = data[:length].count(b"\n")
        found = list(read(torn))
        assert found[:complete] == list(read(path))[:complete]
        rest = [] if length in (0, len(data), *starts) else [Damage(torn, complete + 1, torn=True)]
        assert found[complete:] == rest


@pytest.mark.parametrize("line", [0, 1, 4])
@pytest.mark.parametrize("where", [0, 4, 20, -1])
def test_a_damaged_line_in_the_middle_is_named_and_the_others_are_read(tmp_path: Path, line: int, where: int) -> None:
    path = write(tmp_path)
    whole = list(read(path))
    lines = path.read_bytes().split(b"\n")
    broken = bytearray(lines[line])
    broken[where] ^= 0x01
    lines[line] = bytes(broken)
    path.write_bytes(b"\n".join(lines))
    found = list(read(path))
    assert found[line] == Damage(path, line + 1, torn=False)
    assert found[:line] + found[line + 1 :] == whole[:line] + whole[line + 1 :]
    assert str(found[line]) == f"{path}: line {line + 1} is damaged"


@pytest.mark.parametrize("text", [b"", b"[1]", b'{"other":{}}', b'{"row":{},"begin":{}}', b"null"])
def test_a_line_that_is_no_record_is_damage(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path, 1)
    good = path.read_bytes()
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text) + good)
    assert next(read(path)) == Damage(path, 1, torn=False)


def test_segments_follow_one_another_and_are_listed_in_order(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "w1") as journal:
        assert journal.finish_segment() is None
        for number in range(3):
            journal.row(fields(number))
            done = journal.finish_segment()
            assert done == Segment(tmp_path / f"w1-{number:06d}.jsonl", "w1", number)
            assert journal.rows == 0
    (tmp_path / "w0-000000.damaged").write_text("")
    (tmp_path / "notes.txt").write_text("")
    assert [s.seq for s in segments(tmp_path)] == [0, 1, 2]
    assert segments(tmp_path / "nowhere") == []


def test_a_number_that_json_cannot_hold_is_refused_before_it_is_written(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "w1") as journal:
        journal.row(fields(1))
        with pytest.raises(ValueError, match="Out of range"):
            journal.row({"attempt_id": "x", "score": float("nan")})
        journal.row(fields(2))
    assert list(read(tmp_path / "w1-000000.jsonl")) == [("row", fields(1)), ("row", fields(2))]


@pytest.fixture
def small_disk(tmp_path: Path):
    """64 KB that can be filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_and_once_freed_it_is_written_on(small_disk: Path) -> None:
    hog = small_disk / "hog"
    hog.write_bytes(b"x" * 32_768)
    written = []
    with JournalWriter(small_disk / "journal", "w1") as journal:

        def fill() -> None:
            for number in range(10_000):
                row = {"attempt_id": f"k{number}-0", "text": "y" * 1000}
                journal.row(row)
                written.append(("row", row))

        with pytest.raises(OSError, match="No space") as caught:
            fill()
        assert caught.value.errno == errno.ENOSPC
        assert list(read(small_disk / "journal" / "w1-000000.jsonl")) == written
        hog.unlink()
        after = ("row", {"attempt_id": "later-0", "text": "z" * 1000})
        journal.row(after[1])
        journal.commit()
        assert journal.rows == len(written) + 1
    assert list(read(small_disk / "journal" / "w1-000000.jsonl")) == [*written, after]
