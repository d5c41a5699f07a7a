"""The store of one sweep's rows: append durably, turn into Parquet, recover what a dead writer left.

Guarantees. After `commit` returns, every row added before is counted once by every later reader, whatever
is killed afterwards. Parquet files appear whole, under names that follow from writer and segment; rows of a
segment go to one file for each partition they fall into.
"""

import io
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.core.columns import PARTITION_KEYS
from orchestrator.storage import journal
from orchestrator.storage.remote_journal import (
    RemoteJournalWriter,
    finish_removals,
    read_chunks,
    remote_segments,
    remove_chunks,
)
from orchestrator.storage.root import Root
from orchestrator.storage.rows import to_table
from orchestrator.storage.schema import without_partition_keys

ROWS_PER_SEGMENT = 2_000


_PARTITION = re.compile(rf"(?:^|/)({'|'.join(PARTITION_KEYS)})=([^/]*)(?=/)")


def partition_keys(path: str) -> tuple[tuple[str, str], ...]:
    """The hive partition values in a path."""
    return tuple((name, unquote(value)) for name, value in _PARTITION.findall(path))


def partition_folder(row: Mapping[str, object]) -> str:
    """trials/suite=../agent=../resources=../day=YYYY-MM-DD, values percent-encoded as hive readers expect."""
    parts = [f"{key}={quote(str(row[key]), safe='')}" for key in PARTITION_KEYS]
    return "/".join(["trials", *parts])


def journal_folder(sweep_id: str) -> str:
    return f"sweeps/{sweep_id}/journal"


def open_segments(root: Root, sweep_id: str | None = None) -> list[journal.Segment]:
    """The journal segments of a root, of one sweep or of all, wherever this root keeps them."""
    if not root.is_local:
        return remote_segments(root, journal_folder(sweep_id) if sweep_id else "sweeps")
    sweeps = root.local_folder("sweeps")
    names = [sweep_id] if sweep_id else sorted(p.name for p in sweeps.iterdir()) if sweeps.is_dir() else []
    return [found for name in names for found in journal.segments(sweeps / name / "journal")]


@dataclass(slots=True)
class Recovery:
    """What a look at the journal found: rows, attempts begun without a row, and damage."""

    rows: list[dict[str, object]] = field(default_factory=list)
    begun: list[dict[str, object]] = field(default_factory=list)
    damage: list[journal.Damage] = field(default_factory=list)


def read_segment(segment: journal.Segment) -> Recovery:
    """The rows of one segment, and the attempts that were begun in it and have no row there."""
    found = Recovery()
    begun: dict[str, dict[str, object]] = {}
    data = read_chunks(segment) if segment.chunks else segment.path.read_bytes()
    for record in journal.parse(data, segment.path):
        if isinstance(record, journal.Damage):
            found.damage.append(record)
            continue
        kind, fields = record
        if kind == "row":
            found.rows.append(fields)
            begun.pop(str(fields["attempt_id"]), None)
        else:
            begun[str(fields["attempt_id"])] = fields
    found.begun = list(begun.values())
    return found


def write_parquet(root: Root, segment: journal.Segment, rows: list[dict[str, object]]) -> list[str]:
    """One file for each partition; the same segment always gives the same names and contents."""
    by_folder: dict[str, list[dict[str, object]]] = defaultdict(list)
    for row in rows:
        by_folder[partition_folder(row)].append(row)
    written = []
    for folder, members in sorted(by_folder.items()):
        name = f"{folder}/part-{segment.writer}-{segment.seq:06d}.parquet"
        buffer = io.BytesIO()
        pq.write_table(without_partition_keys(to_table(members)), buffer, compression="zstd", use_dictionary=True)
        root.write(name, buffer.getvalue())
        written.append(name)
    # Else a driver keeps what its largest segments needed, a little more after each.
    pa.default_memory_pool().release_unused()
    return written


class RowStore:
    """Appends rows of one sweep as one writer. Not safe for several threads; use it in `with`."""

    def __init__(self, root: Root, sweep_id: str, writer: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9]+", writer):
            raise ValueError(f"writer {writer!r} must be letters and digits")
        self.root = root
        self.sweep_id = sweep_id
        folder = journal_folder(sweep_id)
        self._journal: journal.JournalWriter | RemoteJournalWriter = (
            journal.JournalWriter(root.local_folder(folder), writer)
            if root.is_local
            else RemoteJournalWriter(root, folder, writer)
        )
        self.commit_every_s = self._journal.commit_every_s

    @property
    def at_risk(self) -> bool:
        """Whether something was begun or added that would be gone with this process: commit soon."""
        return self._journal.at_risk

    def begin(self, fields: Mapping[str, object]) -> None:
        self._journal.begin(fields)

    def add(self, row: Mapping[str, object]) -> None:
        self._journal.row(row)

    def commit(self) -> None:
        """Make all added rows durable; seals the segment when it has grown large."""
        self._journal.commit()
        if self._journal.rows >= ROWS_PER_SEGMENT:
            self.seal()

    def seal(self) -> None:
        """Turn the current segment into Parquet.

        Attempts that were begun in it and still run are carried over into the next segment first.
        """
        segment = self._journal.finish_segment()
        if segment is None:
            return
        found = read_segment(segment)
        for fields in found.begun:
            self._journal.begin(fields)
        if found.begun:
            self._journal.commit()
        publish(self.root, segment, found.rows)

    def recover(self) -> Recovery:
        """Publish the rows of segments that dead writers left, and tell which attempts had no end.

        The caller holds the sweep's lock, so every other writer is dead. What was begun is carried over into
        this writer's journal before anything is taken away, so that a recovery may itself die. A segment with
        damage that is not a torn last line is kept beside its Parquet files, renamed to `.damaged`.
        """
        if not self.root.is_local:
            finish_removals(self.root, journal_folder(self.sweep_id))
        segments = [s for s in open_segments(self.root, self.sweep_id) if s.writer != self._journal.writer]
        parts = [(segment, read_segment(segment)) for segment in segments]
        found = Recovery()
        begun: dict[str, dict[str, object]] = {}
        for _, part in parts:
            found.rows += part.rows
            found.damage += part.damage
            begun |= {str(fields["attempt_id"]): fields for fields in part.begun}
        for row in found.rows:
            begun.pop(str(row["attempt_id"]), None)
        found.begun = list(begun.values())
        for fields in found.begun:
            self._journal.begin(fields)
        self._journal.commit()
        for segment, part in parts:
            publish(self.root, segment, part.rows, keep=any(not d.torn for d in part.damage))
        return found

    def close(self) -> None:
        self._journal.close()

    def __enter__(self) -> "RowStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def publish(root: Root, segment: journal.Segment, rows: list[dict[str, object]], keep: bool = False) -> None:
    """Write a closed segment's Parquet files, then take the segment away."""
    if rows:
        write_parquet(root, segment, rows)
    if segment.chunks:
        remove_chunks(root, segment, keep)
        return
    if keep:
        segment.path.rename(segment.path.with_suffix(".damaged"))
    else:
        segment.path.unlink()
    journal.sync_folder(segment.path.parent)
