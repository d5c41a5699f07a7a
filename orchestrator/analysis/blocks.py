"""Columns of many rows as integer codes and numbers: what a reduction works on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from orchestrator.analysis.rows import Chunk, Layout, RowFile, read_chunks

ROWS_PER_BLOCK = 400_000
Excluded = Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as integer codes into its distinct values; None stands for null. ordered: values are sorted."""

    values: tuple[object, ...]
    codes: NDArray[np.int32]
    ordered: bool = False

    def take(self, index: NDArray[np.int64]) -> "Coded":
        return Coded(self.values, self.codes[index], self.ordered)

    def decode(self) -> list[object]:
        return [self.values[code] for code in self.codes.tolist()]

    def mask(self, wanted: Callable[[object], bool]) -> NDArray[np.bool_]:
        """Which entries satisfy a condition on the value; the condition is asked once per distinct value."""
        return np.array([wanted(value) for value in self.values], dtype=bool)[self.codes]

    def present(self) -> list[object]:
        """The distinct values that occur, in order."""
        seen = np.bincount(self.codes, minlength=len(self.values))
        return [value for value, count in zip(self.values, seen.tolist(), strict=True) if count]


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows: coded columns, numbers (null as NaN) and flags (null as false)."""

    rows: int
    coded: dict[str, Coded]
    numbers: dict[str, NDArray[np.float64]]
    flags: dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns a block shall hold, by kind."""

    coded: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.coded, *self.numbers, *self.flags)))

    @classmethod
    def union(cls, several: Iterable["Wanted"]) -> "Wanted":
        """What all of several need together."""
        lists = [(one.coded, one.numbers, one.flags) for one in several]
        return cls(*(tuple(dict.fromkeys(chain.from_iterable(kind))) for kind in zip(*lists, strict=True)))


def read_blocks(files: Sequence[RowFile], wanted: Wanted, excluded: Excluded | None = None) -> Iterator[Block]:
    """The rows of several files in blocks: small files share one, row groups are never split.

    `excluded` names rows, by file and place, that are left out.
    """
    layout = Layout()
    waiting: list[Chunk] = []
    places: list[NDArray[np.int64]] = []
    rows = 0
    for file in files:
        drop = (excluded or {}).get(file.identity)
        for chunk in read_chunks(file, wanted.columns, layout):
            if drop is not None:
                places.append(drop[(drop >= chunk.first) & (drop < chunk.first + chunk.rows)] - chunk.first + rows)
            waiting.append(chunk)
            rows += chunk.rows
            if rows >= ROWS_PER_BLOCK:
                yield _without(_block(waiting, rows, wanted), places)
                waiting, places, rows = [], [], 0
    if rows:
        yield _without(_block(waiting, rows, wanted), places)


def _block(chunks: Sequence[Chunk], rows: int, wanted: Wanted) -> Block:
    return Block(
        rows,
        {name: _coded(chunks, name) for name in wanted.coded},
        {name: np.concatenate([_number(chunk, name) for chunk in chunks]) for name in wanted.numbers},
        {name: np.concatenate([_flag(chunk, name) for chunk in chunks]) for name in wanted.flags},
    )


def _without(block: Block, places: Sequence[NDArray[np.int64]]) -> Block:
    if not any(len(place) for place in places):
        return block
    keep = np.delete(np.arange(block.rows), np.concatenate(places))
    return Block(
        len(keep),
        {name: column.take(keep) for name, column in block.coded.items()},
        {name: column[keep] for name, column in block.numbers.items()},
        {name: column[keep] for name, column in block.flags.items()},
    )


def _coded(chunks: Sequence[Chunk], name: str) -> Coded:
    constant = [name in chunk.constants for chunk in chunks]
    if all(constant):
        parts = [Coded((chunk.constants[name],), np.zeros(chunk.rows, dtype=np.int32)) for chunk in chunks]
        return unite(parts)
    if not any(constant):
        arrays = [array for chunk in chunks for array in chunk.table.column(name).chunks]
        if len({str(array.type) for array in arrays}) == 1:
            return _from_arrow(pa.chunked_array(arrays))
    return unite(
        [
            Coded((chunk.constants[name],), np.zeros(chunk.rows, dtype=np.int32))
            if name in chunk.constants
            else _from_arrow(chunk.table.column(name))
            for chunk in chunks
        ]
    )


def _from_arrow(column: pa.ChunkedArray) -> Coded:
    if pa.types.is_null(column.type) or column.null_count == len(column):
        return Coded((None,), np.zeros(len(column), dtype=np.int32))
    if pa.types.is_integer(column.type) and not column.null_count:
        return _integers(plain(column)[0].astype(np.int64, copy=False))
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    array = encoded.unify_dictionaries().combine_chunks()
    values = array.dictionary.to_pylist()
    codes, there = plain(array.indices)
    codes = codes.astype(np.int32, copy=False)
    if there is not None:
        codes = np.where(there, codes, np.int32(len(values)))
        values.append(None)
    return Coded(tuple(values), codes)


def _integers(values: NDArray[np.int64]) -> Coded:
    if not len(values):
        return Coded((), np.zeros(0, dtype=np.int32))
    low, high = int(values.min()), int(values.max())
    if high - low < 100_000:
        return Coded(tuple(range(low, high + 1)), (values - low).astype(np.int32))
    distinct, codes = np.unique(values, return_inverse=True)
    return Coded(tuple(distinct.tolist()), codes.astype(np.int32))


def _number(chunk: Chunk, name: str) -> NDArray[np.float64]:
    if name in chunk.constants:
        value = chunk.constants[name]
        return np.full(chunk.rows, np.nan if value is None else float(str(value)))
    column = chunk.table.column(name)
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    values, there = plain(column)
    found = values.astype(np.float64)
    if there is not None:
        found[~there] = np.nan
    return found


def _flag(chunk: Chunk, name: str) -> NDArray[np.bool_]:
    if name in chunk.constants:
        return np.full(chunk.rows, bool(chunk.constants[name]))
    column = chunk.table.column(name)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=bool)
    values, there = plain(column)
    return values if there is None else values & there


def plain(column: pa.ChunkedArray | pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The values of a column of numbers, times, dates or flags, and which of them are there, None where all are.

    Times and dates are whole numbers since 1970 in their own unit. Straight from the buffers: `to_numpy` imports
    pandas wherever it is installed, which takes longer than reading a million rows.
    """
    array = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    rows = slice(array.offset, array.offset + len(array))
    validity, data = array.buffers()
    there = None if not array.null_count else _bits(validity)[rows]
    if pa.types.is_boolean(kind):
        return _bits(data)[rows], there
    letter = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
    return np.frombuffer(data, dtype=f"{letter}{kind.bit_width // 8}")[rows], there


def _bits(buffer: pa.Buffer) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(buffer, dtype=np.uint8), bitorder="little").view(np.bool_)


def unite(columns: Sequence[Coded]) -> Coded:
    """Several coded columns as one whose values are sorted, so that codes sort like values."""
    first = columns[0]
    if (first.ordered or len(first.values) == 1) and all(column.values == first.values for column in columns):
        return Coded(first.values, np.concatenate([column.codes for column in columns]), True)
    values = sorted({value for column in columns for value in column.values}, key=sortable)
    place = {value: index for index, value in enumerate(values)}
    tables = [np.array([place[value] for value in column.values], dtype=np.int32) for column in columns]
    codes = [table[column.codes] for table, column in zip(tables, columns, strict=True)]
    return Coded(tuple(values), np.concatenate(codes) if codes else np.zeros(0, dtype=np.int32), True)


def sortable(value: object) -> tuple[bool, object]:
    """A sort key that puts null first."""
    return (value is not None, value if value is not None else 0)
