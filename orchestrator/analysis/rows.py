"""Reading rows for analysis: which files and journals a results folder holds, and their columns in chunks.

Nothing else in analysis opens a file of trials. A chunk is one row group at most. Values that are the same in
the whole row group, by its path or its own statistics, are not read at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.core.columns import COLUMNS, SCHEMA_VERSION
from orchestrator.storage.journal import Segment
from orchestrator.storage.reading import ResultsError, list_rows
from orchestrator.storage.root import Root
from orchestrator.storage.rows import to_table
from orchestrator.storage.store import partition_keys, read_segment

_STRINGS = frozenset(column.name for column in COLUMNS if column.type == "string")
_UNIQUE = frozenset({"trial_key", "attempt_id", "transcript_uri", "failure_message"})
_COMPARABLE = frozenset(column.name for column in COLUMNS if column.type in ("string", "int", "bool", "day"))


class RowsError(ResultsError):
    """Rows cannot be analysed as asked; the message says what was asked, what was found and what to do."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """One Parquet file of trials, or one journal segment that is not yet a file; picklable."""

    root: str
    path: str
    size_bytes: int
    keys: tuple[tuple[str, str], ...] = ()
    segment: Segment | None = None

    @property
    def identity(self) -> str:
        return f"{self.root}/{self.path}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows: the columns that vary, and the values that do not. `first`: the row's place in its file."""

    rows: int
    table: pa.Table
    constants: dict[str, object]
    first: int = 0


def row_files(roots: Sequence[str], *, sweep: str | None = None) -> list[RowFile]:
    """The files and open journals under every root, in one order that is the same everywhere.

    Raises RowsError where a root holds none, and where a file is empty or cut off. With `sweep` only that
    sweep's journals are taken; files hold several sweeps and are not filtered here.
    """
    found: list[RowFile] = []
    for location in dict.fromkeys(roots):
        listing = list_rows(Root(location), sweep)
        if listing.problems:
            raise RowsError(f"{location}: {listing.problems[0]}.")
        if not listing.files and not listing.journals:
            raise RowsError(
                f"Rows were asked for in {location}, but it holds no trials: give a results folder, or run the sweep first."
            )
        found += [RowFile(location, path, size, partition_keys(path)) for path, size in listing.files]
        found += [RowFile(location, str(s.path), s.size_bytes, (), s) for s in listing.journals]
    return found


class Layout:
    """Where each column stands in a file, found once for files that are laid out alike; and the roots that are open."""

    def __init__(self) -> None:
        self._schema: pq.ParquetSchema | None = None
        self._leaves: dict[str, int] = {}
        self._roots: dict[str, Root] = {}

    def root(self, location: str) -> Root:
        if location not in self._roots:
            self._roots[location] = Root(location)
        return self._roots[location]

    def leaves(self, schema: pq.ParquetSchema) -> dict[str, int]:
        if self._schema is None or not schema.equals(self._schema):
            self._schema = schema
            self._leaves = {schema.column(i).path.split(".")[0]: i for i in range(len(schema))}
        return self._leaves


def read_chunks(file: RowFile, columns: Sequence[str], layout: Layout | None = None) -> Iterator[Chunk]:
    """The rows of one file by row group, strings dictionary-encoded; columns that the file lacks are null.

    Raises RowsError for a torn file and for a newer schema. A `layout` shared over files saves time.
    """
    if file.segment is not None:
        table = to_table(read_segment(file.segment).rows).select(list(columns))
        if table.num_rows:
            yield Chunk(table.num_rows, table, {})
        return
    known: dict[str, object] = {
        name: date.fromisoformat(value) if name == "day" else value for name, value in file.keys if name in columns
    }
    layout = layout or Layout()
    root = layout.root(file.root)
    encoded = [name for name in columns if name in _STRINGS - _UNIQUE and name not in known]
    try:
        with _open(root, file.path, encoded) as parquet:
            yield from _row_groups(file, parquet, columns, known, layout)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        first = str(error).splitlines()[0][:160]
        raise RowsError(
            f"{file.path} cannot be read ({first}): restore it, or remove it and run the sweep again."
        ) from None


def _open(root: Root, path: str, encoded: Sequence[str]) -> pq.ParquetFile:
    """A file with strings dictionary-encoded. One that lacks some of them is opened twice: its footer is not known."""
    try:
        return pq.ParquetFile(root.path(path), filesystem=root.filesystem, read_dictionary=list(encoded))
    except KeyError:
        with pq.ParquetFile(root.path(path), filesystem=root.filesystem) as parquet:
            there = set(parquet.schema_arrow.names)
    return pq.ParquetFile(
        root.path(path), filesystem=root.filesystem, read_dictionary=[name for name in encoded if name in there]
    )


def _row_groups(
    file: RowFile, parquet: pq.ParquetFile, columns: Sequence[str], known: dict[str, object], layout: Layout
) -> Iterator[Chunk]:
    stated = (parquet.metadata.metadata or {}).get(b"passhat.schema_version")
    if stated is not None and int(stated) > SCHEMA_VERSION:
        raise RowsError(
            f"{file.path} has schema version {int(stated)}, this passhat reads up to {SCHEMA_VERSION}: upgrade passhat."
        )
    leaves = layout.leaves(parquet.schema)
    first = 0
    for index in range(parquet.metadata.num_row_groups):
        group = parquet.metadata.row_group(index)
        if not group.num_rows:
            continue
        constants = dict(known)
        for name in columns:
            if name not in constants and name in _COMPARABLE:
                _constant(
                    constants, name, group.column(leaves[name]).statistics if name in leaves else None, name in leaves
                )
        wanted = [name for name in columns if name not in constants]
        table = parquet.read_row_group(index, columns=wanted, use_threads=False)
        for name in wanted:
            if name not in leaves:
                table = table.append_column(name, pa.nulls(table.num_rows))
        yield Chunk(group.num_rows, table, constants, first)
        first += group.num_rows


def _constant(constants: dict[str, object], name: str, statistics: pq.Statistics | None, present: bool) -> None:
    """Note a column's one value where the statistics of its row group show that there is only one."""
    if not present:
        constants[name] = None
    elif statistics is not None and statistics.has_null_count and not statistics.null_count:
        if statistics.has_min_max and statistics.min == statistics.max:
            constants[name] = statistics.min
    elif statistics is not None and statistics.has_null_count and statistics.num_values == 0:
        constants[name] = None


def scan(files: Sequence[RowFile], columns: Sequence[str]) -> Iterator[pa.Table]:
    """All rows of the files, table by table, with exactly the columns asked for; strings are plain."""
    for file in files:
        for chunk in read_chunks(file, columns):
            yield full_table(chunk, columns)


def full_table(chunk: Chunk, columns: Sequence[str]) -> pa.Table:
    """A chunk with its constants written out, in the order asked for."""
    arrays = []
    for name in columns:
        if name in chunk.constants:
            value = chunk.constants[name]
            arrays.append(pa.nulls(chunk.rows) if value is None else pa.repeat(pa.scalar(value), chunk.rows))
            continue
        column = chunk.table.column(name)
        arrays.append(column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column)
    return pa.table(arrays, names=list(columns))
