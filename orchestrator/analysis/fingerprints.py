"""Every row's identity and times as small numbers, so that millions can be compared in memory."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from orchestrator.analysis.blocks import plain
from orchestrator.analysis.rows import Chunk, Layout, RowFile, read_chunks
from orchestrator.analysis.scanning import Partitioner, in_threads, partitions

Whole = NDArray[np.int64]
_TOLD = ("status", "score", "cost_usd", "suspect")
_COLUMNS = ("trial_key", "attempt", "final", "started_at", "finished_at", "day", *_TOLD)
_MULTIPLIERS = np.random.default_rng(20260101).integers(1, 2**63, 64, dtype=np.uint64) | np.uint64(1)
_DAY_US = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """One entry per row, in file order.

    `trial` is a 64-bit hash of trial_key: two of ten million keys collide with probability 3e-6. `order` sorts
    by trial, then attempt, then place. backwards: finished before it started; wrong_day: `day` is not the UTC date of
    the start. digest: the same for the same rows (identity, start, and _TOLD), however they are spread over files.
    """

    files: tuple[RowFile, ...]
    bounds: Whole
    trial: NDArray[np.uint64]
    attempt: NDArray[np.int32]
    final: NDArray[np.bool_]
    backwards: NDArray[np.bool_]
    wrong_day: NDArray[np.bool_]
    order: Whole
    digest: str

    @property
    def rows(self) -> int:
        return len(self.trial)

    def places(self, excluded: Sequence[Whole]) -> Mapping[str, Whole]:
        """Row numbers as {file: places in it}."""
        if not excluded:
            return {}
        index = np.unique(np.concatenate(excluded))
        owner = np.searchsorted(self.bounds, index, side="right") - 1
        return {
            self.files[number].identity: index[owner == number] - self.bounds[number]
            for number in np.unique(owner).tolist()
        }

    def name(self, index: Whole) -> str:
        """The file of the first of some rows."""
        return self.files[int(np.searchsorted(self.bounds, index[0], side="right")) - 1].path


@dataclass(frozen=True, slots=True)
class _Prints:
    """The rows of one file: trial, attempt, final, backwards and wrong_day, and the sums its digest is made of."""

    columns: tuple[NDArray[np.generic], ...]
    total: int
    mixed: int


def read_fingerprints(files: Sequence[RowFile], map_partitions: Partitioner | None = None) -> Fingerprints:
    """Identity and times of all rows."""
    run = map_partitions or in_threads
    prints = [one for part in run(_file_prints, partitions(files)) for one in part]
    empty = tuple(np.zeros(0, dtype=kind) for kind in (np.uint64, np.int32, bool, bool, bool))
    trial, attempt, final, backwards, wrong_day = (
        np.concatenate(column) for column in zip(empty, *(one.columns for one in prints), strict=True)
    )
    bounds = np.cumsum([0, *(len(one.columns[0]) for one in prints)])[:-1].astype(np.int64)
    total, mixed = sum(one.total for one in prints) % 2**64, 0
    for one in prints:
        mixed ^= one.mixed
    digest = hashlib.sha256(f"{len(trial)}/{total}/{mixed}".encode()).hexdigest()
    order = np.lexsort((attempt, trial))
    return Fingerprints(tuple(files), bounds, trial, attempt, final, backwards, wrong_day, order, digest)


def _file_prints(files: list[RowFile]) -> list[_Prints]:
    layout = Layout()
    return [_prints([_columns(chunk) for chunk in read_chunks(file, _COLUMNS, layout)]) for file in files]


def _prints(chunks: Sequence[tuple[NDArray[np.generic], ...]]) -> _Prints:
    empty = tuple(np.zeros(0, dtype=kind) for kind in (np.uint64, np.int64, bool, float, float, np.int64, np.uint64))
    trial, attempt, final, started, finished, day, told = (
        np.concatenate(column) for column in zip(empty, *chunks, strict=True)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        row = trial * np.uint64(31) + attempt.astype(np.uint64) + started.astype(np.uint64)
        row ^= told
        mixed = (row ^ (row >> np.uint64(29))) * _MULTIPLIERS[0]
        total = int(np.add.reduce(mixed, dtype=np.uint64))
    columns = (trial, attempt.astype(np.int32), final, finished < started, np.floor(started / _DAY_US) != day)
    return _Prints(columns, total, int(np.bitwise_xor.reduce(mixed, initial=0)))


def _columns(chunk: Chunk) -> tuple[NDArray[np.generic], ...]:
    key = chunk.constants.get("trial_key")
    return (
        hash_strings(pa.array([key] * chunk.rows) if key is not None else chunk.table.column("trial_key")),
        _whole(chunk, "attempt"),
        _whole(chunk, "final").astype(bool),
        _whole(chunk, "started_at").astype(np.float64),
        _whole(chunk, "finished_at").astype(np.float64),
        _whole(chunk, "day"),
        _told(chunk),
    )


def _told(chunk: Chunk) -> NDArray[np.uint64]:
    """What a row tells of its trial as one number."""
    with np.errstate(over="ignore"):
        found = _hash_of_words(chunk, "status")
        for place, name in enumerate(_TOLD[1:], 1):
            bits = np.ascontiguousarray(_whole(chunk, name).astype(np.float64)).view(np.uint64)
            found = (found ^ bits) * _MULTIPLIERS[place]
            found ^= found >> np.uint64(31)
    return found


def _hash_of_words(chunk: Chunk, name: str) -> NDArray[np.uint64]:
    """The hash of each value of a column with few distinct ones; null is a word like any other."""
    if name in chunk.constants:
        return np.repeat(hash_strings(pa.array([str(chunk.constants[name])])), chunk.rows)
    column = chunk.table.column(name)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    array = column.unify_dictionaries().combine_chunks()
    words = hash_strings(pa.array([*map(str, array.dictionary.to_pylist()), "None"]))
    codes, there = plain(array.indices)
    found: NDArray[np.uint64] = words[codes if there is None else np.where(there, codes, len(words) - 1)]
    return found


def _whole(chunk: Chunk, name: str) -> NDArray[np.generic]:
    """A column as numbers: dates as days and times as microseconds since 1970, null as NaN."""
    if name in chunk.constants:
        value = chunk.constants[name]
        if isinstance(value, date):
            value = value.toordinal() - _EPOCH
        return np.full(chunk.rows, np.nan if value is None else value)
    column = chunk.table.column(name)
    if pa.types.is_null(column.type):
        return np.full(chunk.rows, np.nan)
    values, there = plain(column)
    return values if there is None else np.where(there, values.astype(np.float64), np.nan)


def hash_strings(array: pa.StringArray | pa.ChunkedArray) -> NDArray[np.uint64]:
    """A 64-bit hash of each string; equal strings have equal hashes in every process and beside any others."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(offsets)
    width = int(lengths.max(initial=0))
    data = np.frombuffer(array.buffers()[2] or b"", dtype=np.uint8)
    padded = np.zeros((len(array), -(-(width + 1) // 8) * 8), dtype=np.uint8)
    if (lengths == width).all():
        padded[:, :width] = data[offsets[0] : offsets[-1]].reshape(len(array), width)
    else:
        inside = np.arange(padded.shape[1]) < lengths[:, None]
        padded[inside] = data[offsets[0] : offsets[-1]]
    words = padded.view(np.uint64)
    value, shortest = lengths.astype(np.uint64), int(lengths.min(initial=width))
    with np.errstate(over="ignore"):
        for number in range(words.shape[1]):
            mixed = (value ^ words[:, number]) * _MULTIPLIERS[number % len(_MULTIPLIERS)]
            mixed ^= mixed >> np.uint64(32)
            value = mixed if shortest > 8 * number else np.where(lengths > 8 * number, mixed, value)
    return value
