"""Reading rows back: Parquet files and whatever is still in journals, each attempt once.

Rows of a journal segment that exists are taken from it, and the Parquet files of the same writer and number
are left out: they are the same rows. A file that cannot be read is named, never passed over.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orchestrator.core.columns import SCHEMA_VERSION
from orchestrator.storage import journal
from orchestrator.storage.joining import replaced
from orchestrator.storage.root import Root
from orchestrator.storage.rows import to_table
from orchestrator.storage.schema import trials_schema
from orchestrator.storage.store import open_segments, partition_keys, read_segment

_PART = re.compile(r"part-(?P<writer>[A-Za-z0-9]+)-(?P<seq>[0-9]+)\.parquet$")


class ResultsError(ValueError):
    """A results folder that cannot be read as asked; the message is what a person reads."""


@dataclass(slots=True)
class Listing:
    """The Parquet files that count, their sizes, journal segments with rows, and what is wrong."""

    files: list[tuple[str, int]] = field(default_factory=list)
    journals: list[journal.Segment] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def list_rows(root: Root, sweep_id: str | None = None) -> Listing:
    """What there is to read. `sweep_id` limits the journals; files hold several sweeps."""
    found = Listing()
    found.journals = open_segments(root, sweep_id)
    open_parts = {(s.writer, s.seq) for s in found.journals}
    gone = replaced(root)
    for path, size in root.list_files("trials", ".parquet"):
        if path in gone:
            continue
        match = _PART.search(path)
        if match and (match["writer"], int(match["seq"])) in open_parts:
            continue
        if size < 12:
            found.problems.append(f"{path} is empty or cut off ({size} bytes); remove it and run the sweep again")
            continue
        found.files.append((path, size))
    return found


def scan(
    root: Root, columns: Sequence[str] | None = None, sweep_id: str | None = None, strict: bool = True
) -> Iterator[pa.Table]:
    """Tables of rows, one per file or journal segment, with the given columns in the given order.

    Raises ResultsError for a file that cannot be read or has a newer schema; with `strict` False such a
    file is left out (the caller has listed the problems).
    """
    names = list(columns) if columns is not None else trials_schema().names
    listing = list_rows(root, sweep_id)
    if strict and listing.problems:
        raise ResultsError(listing.problems[0])
    for path, _ in listing.files:
        try:
            table = read_file(root, path, names)
        except ResultsError:
            if strict:
                raise
            continue
        yield _of_sweep(root, path, table, sweep_id)
    for segment in listing.journals:
        try:
            part = read_segment(segment)
        except FileNotFoundError:
            yield from _sealed_meanwhile(root, segment, names, sweep_id)
            continue
        rows = [r for r in part.rows if sweep_id is None or r["sweep"] == sweep_id]
        if rows:
            yield to_table(rows).select(names)


def _sealed_meanwhile(
    root: Root, segment: journal.Segment, names: Sequence[str], sweep_id: str | None
) -> Iterator[pa.Table]:
    """The rows of a segment that became files after it was listed."""
    for path, _ in root.list_files("trials", f"part-{segment.writer}-{segment.seq:06d}.parquet"):
        yield _of_sweep(root, path, read_file(root, path, names), sweep_id)


def _of_sweep(root: Root, path: str, table: pa.Table, sweep_id: str | None) -> pa.Table:
    if sweep_id is None:
        return table
    wanted = read_file(root, path, ["sweep"]).column("sweep")
    return table.filter(pc.equal(wanted, sweep_id))


def read_file(root: Root, path: str, columns: Sequence[str]) -> pa.Table:
    """Columns of one Parquet file; columns it does not have are null. Raises ResultsError."""
    schema = trials_schema()
    try:
        with root.filesystem.open_input_file(root.path(path)) as stream:
            parquet = pq.ParquetFile(stream)
            version = int((parquet.schema_arrow.metadata or {}).get(b"passhat.schema_version", b"0"))
            if version > SCHEMA_VERSION:
                raise ResultsError(
                    f"{path} has schema version {version}, this passhat reads up to {SCHEMA_VERSION}; upgrade passhat"
                )
            stated = dict(partition_keys(path))
            there = [name for name in columns if name in parquet.schema_arrow.names and name not in stated]
            table = parquet.read(columns=there)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        first = str(error).splitlines()[0]
        raise ResultsError(
            f"{path} cannot be read ({first}); restore it, or remove it and run the sweep again"
        ) from None
    arrays = [
        table.column(name).cast(schema.field(name).type)
        if name in there
        else pa.repeat(pa.scalar(stated[name]).cast(schema.field(name).type), parquet.metadata.num_rows)
        if name in stated
        else pa.nulls(parquet.metadata.num_rows, schema.field(name).type)
        for name in columns
    ]
    return pa.Table.from_arrays([_chunked(a) for a in arrays], names=list(columns))


def _chunked(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
