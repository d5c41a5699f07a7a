"""The attempts of single tasks and their transcripts, for those who want to see what a number is made of."""

import base64
import io
import tarfile
import zlib
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from orchestrator.analysis.by_suite import suites_of
from orchestrator.analysis.rows import row_files, scan
from orchestrator.analysis.tables import Summary
from orchestrator.storage.root import Root

COLUMNS = (
    "suite",
    "task",
    "attempt_id",
    "arm",
    "day",
    "repeat",
    "attempt",
    "status",
    "total_s",
    "failure_message",
    "transcript_uri",
    "artifacts_uri",
)
_MOST_BYTES = 2_000_000
_MOST_ARCHIVE_BYTES = 200_000_000
_MOST_SCREENS, _MOST_SCREEN_BYTES = 60, 3_000_000
_PNG = b"\x89PNG\r\n\x1a\n"


def read_attempts(
    roots: Sequence[str], summary: Summary, *, tasks: int = 40, at_most: int = 300
) -> dict[str, list[dict[str, object]]]:
    """Attempts of the tasks whose outcome varies most, at most so many of each; those with a transcript first.

    By task, or by `suite: task` where there are several suites.
    """
    spread: dict[tuple[str, str], float] = {}
    for row in summary.tasks:
        rate, key = row.c / row.n if row.n else 0.0, (row.arm.suite, row.task)
        spread[key] = spread.get(key, 0.0) + rate * (1 - rate)
    chosen = sorted(spread, key=lambda key: (-spread[key], key))[:tasks]
    wanted = pa.array([task for _, task in chosen], pa.string())
    kept = [t.filter(pc.is_in(t.column("task"), value_set=wanted)) for t in scan(row_files(roots), COLUMNS)]
    rows = pa.concat_tables(kept, promote_options="permissive")
    order = [("silent", "ascending"), *((name, "ascending") for name in ("arm", "day", "repeat", "attempt"))]
    rows = rows.append_column("silent", rows.column("transcript_uri").is_null()).sort_by(order)
    found = {}
    for suite, task in chosen:
        here = pc.and_(pc.equal(rows.column("suite"), suite), pc.equal(rows.column("task"), task))
        mine = rows.filter(here).slice(0, at_most)
        if mine.num_rows:
            found[task if len(suites_of(summary)) == 1 else f"{suite}: {task}"] = mine.drop_columns(
                ["silent"]
            ).to_pylist()
    return found


def transcript_reader(roots: Sequence[str]) -> Callable[[str], str | None]:
    """A function from a transcript's name to its text; None where no root has it or it cannot be read."""
    places = [Root(root) for root in roots]

    def read(uri: str) -> str | None:
        for place in places:
            try:
                return _text(place.read(uri))
            except (OSError, zstandard.ZstdError, zlib.error):
                continue
        return None

    return read


def screens_reader(roots: Sequence[str]) -> Callable[[str], list[tuple[str, str]]]:
    """A function from an artifact archive's name to its PNG files as (name, base64), at most 60 of up to 3 MB.

    Empty where no root has the archive or it cannot be read. An agent wrote what is in it: only plain files that
    begin as a PNG does are taken.
    """
    places = [Root(root) for root in roots]

    def read(uri: str) -> list[tuple[str, str]]:
        for place in places:
            try:
                return _screens(place.read(uri))
            except (OSError, zstandard.ZstdError, tarfile.TarError):
                continue
        return []

    return read


def _screens(data: bytes) -> list[tuple[str, str]]:
    if data[:4] == b"\x28\xb5\x2f\xfd":
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            data = reader.read(_MOST_ARCHIVE_BYTES)
    found: list[tuple[str, str]] = []
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isreg() and member.size <= _MOST_SCREEN_BYTES else None
            content = file.read() if file is not None else b""
            if content.startswith(_PNG):
                found.append((member.name, base64.b64encode(content).decode()))
            if len(found) == _MOST_SCREENS:
                break
    return sorted(found)


def _text(data: bytes) -> str:
    if data[:4] == b"\x28\xb5\x2f\xfd":
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            data = reader.read(_MOST_BYTES)
    elif data[:2] == b"\x1f\x8b":
        data = zlib.decompressobj(31).decompress(data, _MOST_BYTES)
    text = data[:_MOST_BYTES].decode("utf-8", errors="replace")
    return text if len(data) < _MOST_BYTES else text + "\n... cut off here"
