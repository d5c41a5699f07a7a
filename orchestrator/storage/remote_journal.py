"""The journal on an object store, where nothing can be appended, renamed or locked.

Design. What a commit makes durable becomes one object, a chunk: `<writer>-<seq>.<chunk>.jsonl`, one PUT, with
lines as in storage.journal. The chunks of one (writer, seq) are a segment. What was noted but not committed is
in memory only; workers keep the outcome of an attempt until its row was committed (execution.keeping), so a
controller that dies in between gets it again. A `begin` reaches the store with the next commit, half a second
later at most: an attempt whose driver dies within that time is run again under the same number.

A segment becomes Parquet files under names that follow from (writer, seq). When all are there, a marker
`<writer>-<seq>.done` is written, then the chunks are removed, then the marker. Whoever sees the marker counts the
Parquet files and not the chunks, so a crash at any point loses and doubles nothing, and the next recovery
finishes the removal. The store's listing may lag: a chunk that is listed and gone means that it was published.

One writer at a time: each start writes its name into `writer`; a writer that finds another name there before
it commits was replaced (its node was cut off and the controller started again elsewhere) and stops.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from orchestrator.storage.journal import Segment, encode
from orchestrator.storage.root import Root

_CHUNK = re.compile(r"^(?P<writer>[A-Za-z0-9]+)-(?P<seq>[0-9]{6})\.(?P<chunk>[0-9]{6})\.jsonl$")
_DONE = re.compile(r"^(?P<writer>[A-Za-z0-9]+)-(?P<seq>[0-9]{6})\.done$")


class ReplacedError(RuntimeError):
    """Another controller has taken this sweep over; what was committed is kept."""


def remote_segments(root: Root, folder: str) -> list[Segment]:
    """All segments below a folder that count, in order of writer and number."""
    chunks: dict[tuple[str, str, int], list[tuple[str, int]]] = defaultdict(list)
    done = set()
    for path, size in root.list_files(folder):
        above, _, name = path.rpartition("/")
        if match := _CHUNK.match(name):
            chunks[above, match["writer"], int(match["seq"])].append((path, size))
        elif match := _DONE.match(name):
            done.add((above, match["writer"], int(match["seq"])))
    return [
        Segment(
            Path(f"{above}/{writer}-{seq:06d}.jsonl"),
            writer,
            seq,
            root.location,
            tuple(name for name, _ in parts),
            sum(size for _, size in parts),
        )
        for (above, writer, seq), parts in sorted(chunks.items())
        if (above, writer, seq) not in done
    ]


def read_chunks(segment: Segment) -> bytes:
    """The lines of a segment. Raises FileNotFoundError when it was published meanwhile."""
    root = Root(segment.location)
    return b"".join(root.read(name) for name in segment.chunks)


def remove_chunks(root: Root, segment: Segment, keep: bool) -> None:
    """After its Parquet files are there: the marker, the chunks' removal (with `keep` a copy stays), the marker's."""
    marker = str(segment.path.with_suffix(".done"))
    if keep:
        root.write(str(segment.path.with_suffix(".damaged")), read_chunks(segment))
    root.write(marker, b"")
    for name in segment.chunks:
        root.remove(name)
    root.remove(marker)


def finish_removals(root: Root, folder: str) -> None:
    """Take away the chunks that a dead writer published and did not remove."""
    names = [path for path, _ in root.list_files(folder)]
    for marker in [name for name in names if _DONE.match(name.rpartition("/")[2])]:
        stem = marker.removesuffix("done")
        for name in names:
            if name.startswith(stem) and name != marker:
                root.remove(name)
        root.remove(marker)


class RemoteJournalWriter:
    """Appends to segments of one writer on an object store. Not safe for several threads."""

    commit_every_s = 0.5

    def __init__(self, root: Root, folder: str, writer: str) -> None:
        self._root, self._folder, self.writer = root, folder, writer
        self.seq = 0
        self.rows = 0
        self._lines: list[bytes] = []
        self._chunks: list[str] = []
        self._bytes = 0
        root.write(f"{folder}/writer", writer.encode())

    @property
    def at_risk(self) -> bool:
        """Whether a record would be gone with this process."""
        return bool(self._lines)

    def begin(self, fields: Mapping[str, object]) -> None:
        """Note that an attempt is handed to a worker; durable with the next commit."""
        self._lines.append(encode({"begin": fields}))

    def row(self, fields: Mapping[str, object]) -> None:
        """Append a row; it counts after the next `commit`."""
        self._lines.append(encode({"row": fields}))
        self.rows += 1

    def commit(self) -> None:
        """Everything appended is in the store when this returns. Raises ReplacedError, OSError."""
        if not self._lines:
            return
        holder = self._root.read(f"{self._folder}/writer").decode()
        if holder != self.writer:
            raise ReplacedError(
                f"another controller ({holder}) has taken this sweep over; this one stops, every committed row is kept"
            )
        data = b"".join(self._lines)
        name = f"{self._folder}/{self.writer}-{self.seq:06d}.{len(self._chunks):06d}.jsonl"
        self._root.write(name, data)
        self._chunks.append(name)
        self._bytes += len(data)
        self._lines.clear()

    def finish_segment(self) -> Segment | None:
        """Close the current segment and return it, so that its rows can be made into Parquet."""
        self.commit()
        if not self._chunks:
            return None
        path = Path(f"{self._folder}/{self.writer}-{self.seq:06d}.jsonl")
        done = Segment(path, self.writer, self.seq, self._root.location, tuple(self._chunks), self._bytes)
        self.seq += 1
        self.rows = self._bytes = 0
        self._chunks = []
        return done

    def close(self) -> None:
        """What was not committed is dropped: it was never counted."""
        self._lines.clear()
