"""The journal: a row is durable here before the plan counts it as done. Append-only, checked, recoverable.

Design. One writer (a driver process) appends to one segment at a time, `<writer>-<seq>.jsonl`; each line is
`<crc32 of the text> <JSON>` and is complete only with its newline. `commit` makes everything appended so
far durable with one fsync, so many rows share it. Two kinds of record: `begin` (an attempt was handed to a
worker; not synced, it only has to outlive the process) and `row` (the attempt's row).

A segment becomes Parquet files whose names follow from (writer, seq), written aside and renamed; only then
is the segment removed. A crash between the two leaves both, and since the names are deterministic, writing
again replaces the same files: nothing is lost and nothing doubled. Rows of a segment that still exists are
read from it and not from its Parquet files.

A line cut off by a crash is the last of its segment: it was never counted, and is dropped. A damaged line
anywhere else is reported, never passed over.
"""

import contextlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_NAME = re.compile(r"^(?P<writer>[A-Za-z0-9]+)-(?P<seq>[0-9]{6})\.jsonl$")


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the journal; on an object store the chunks it is made of, see storage.remote_journal."""

    path: Path
    writer: str
    seq: int
    location: str = ""
    chunks: tuple[str, ...] = ()
    chunk_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.chunk_bytes if self.chunks else self.path.stat().st_size


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that cannot be read. `torn`: the last one, cut off by a crash before it counted."""

    path: Path
    line: int
    torn: bool

    def __str__(self) -> str:
        what = "was cut off before it counted" if self.torn else "is damaged"
        return f"{self.path}: line {self.line} {what}"


def segments(folder: Path) -> list[Segment]:
    """All segments of a journal folder in order of writer and number."""
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(folder.iterdir()):
        match = _NAME.match(path.name)
        if match:
            found.append(Segment(path, match["writer"], int(match["seq"])))
    return found


def read(path: Path) -> Iterator[tuple[str, dict[str, object]] | Damage]:
    """Records (kind, fields) of a segment, and what is damaged in it."""
    return parse(path.read_bytes(), path)


def parse(data: bytes, path: Path) -> Iterator[tuple[str, dict[str, object]] | Damage]:
    """The same of a segment's bytes; `path` names it where it is damaged."""
    lines = data.split(b"\n")
    complete, rest = lines[:-1], lines[-1]
    for number, line in enumerate(complete, start=1):
        record = _parse(line)
        last = number == len(complete) and not rest
        yield record if record is not None else Damage(path, number, torn=last)
    if rest:
        yield Damage(path, len(complete) + 1, torn=True)


def _parse(line: bytes) -> tuple[str, dict[str, object]] | None:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        record = json.loads(text)
    except ValueError:
        return None
    if not isinstance(record, dict) or set(record) - {"begin", "row"} or len(record) != 1:
        return None
    ((kind, fields),) = record.items()
    return kind, fields


def encode(record: Mapping[str, object]) -> bytes:
    """One line: checksum and JSON. Raises ValueError for a number that JSON does not have."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False, ensure_ascii=True).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


class JournalWriter:
    """Appends to segments of one writer. Not safe for several threads. Close it, or use it in `with`."""

    commit_every_s = 0.05
    at_risk = False
    """Whether a record would be gone with this process: here each reaches the operating system at once."""

    def __init__(self, folder: Path, writer: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.writer = writer
        self.seq = 0
        self.rows = 0
        self._file: IO[bytes] | None = None
        self._good = 0

    def begin(self, fields: Mapping[str, object]) -> None:
        """Note that an attempt is handed to a worker. Reaches the operating system, not the disk."""
        self._append({"begin": fields})

    def row(self, fields: Mapping[str, object]) -> None:
        """Append a row; it counts after the next `commit`."""
        self._append({"row": fields})
        self.rows += 1

    def commit(self) -> None:
        """Everything appended is on the disk when this returns. Raises OSError when the disk is full."""
        if self._file is not None:
            self._file.flush()
            os.fdatasync(self._file.fileno())

    def finish_segment(self) -> Segment | None:
        """Close the current segment and return it, so that its rows can be made into Parquet."""
        if self._file is None:
            return None
        self.commit()
        self._file.close()
        self._file = None
        done = Segment(self._path(), self.writer, self.seq)
        self.seq += 1
        self.rows = 0
        return done

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> "JournalWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _path(self) -> Path:
        return self.folder / f"{self.writer}-{self.seq:06d}.jsonl"

    def _append(self, record: Mapping[str, object]) -> None:
        line = encode(record)
        if self._file is None:
            self._file = open(self._path(), "ab")  # noqa: SIM115
            sync_folder(self.folder)
            self._good = self._file.tell()
        try:
            self._file.write(line)
            self._file.flush()
        except OSError:
            self._undo()
            raise
        self._good += len(line)

    def _undo(self) -> None:
        """Cut a half-written line off again, so that a full disk that is freed can be written on."""
        assert self._file is not None
        path = self._path()
        with contextlib.suppress(OSError):
            self._file.close()
        os.truncate(path, self._good)
        self._file = open(path, "ab")  # noqa: SIM115


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
