"""Every row's identity and times as small numbers, so that millions can be compared in memory."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from orchestrator.analysis.rows import Layout, RowFile, full_table, read_chunks

Whole = NDArray[np.int64]
_COLUMNS = ("trial_key", "attempt", "final", "started_at", "finished_at", "day")
_MULTIPLIERS = np.random.default_rng(20260101).integers(1, 2**63, 64, dtype=np.uint64) | np.uint64(1)


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """One entry per row, in file order. Times are microseconds and days since 1970, UTC.

    `trial` is a 64-bit hash of trial_key: two of ten million keys collide with probability 3e-6. `order` sorts
    by trial, then attempt, then place.
    """

    files: tuple[RowFile, ...]
    bounds: Whole
    trial: NDArray[np.uint64]
    attempt: Whole
    final: NDArray[np.bool_]
    started: NDArray[np.float64]
    finished: NDArray[np.float64]
    day: Whole

    order: Whole

    @property
    def rows(self) -> int:
        return len(self.trial)

    @property
    def digest(self) -> str:
        """The same for the same rows, however they are spread over files."""
        row = self.trial * np.uint64(31) + self.attempt.astype(np.uint64) + self.started.astype(np.uint64)
        with np.errstate(over="ignore"):
            mixed = (row ^ (row >> np.uint64(29))) * _MULTIPLIERS[0]
            total = int(np.add.reduce(mixed, dtype=np.uint64)) if len(mixed) else 0
        return hashlib.sha256(f"{self.rows}/{total}/{np.bitwise_xor.reduce(mixed, initial=0)}".encode()).hexdigest()

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


def read_fingerprints(files: Sequence[RowFile]) -> Fingerprints:
    """Identity and times of all rows."""
    layout = Layout()
    parts: list[pa.Table] = []
    bounds = [0]
    for file in files:
        tables = [full_table(chunk, _COLUMNS) for chunk in read_chunks(file, _COLUMNS, layout)]
        parts += tables
        bounds.append(bounds[-1] + sum(table.num_rows for table in tables))
    columns = [_columns(part) for part in parts if part.num_rows]
    trial, attempt, final, started, finished, day = (
        (np.concatenate(column) for column in zip(*columns, strict=True))
        if columns
        else (np.zeros(0, dtype=kind) for kind in (np.uint64, np.int64, bool, float, float, np.int64))
    )
    order = np.lexsort((attempt, trial))
    places = np.array(bounds[:-1], dtype=np.int64)
    return Fingerprints(tuple(files), places, trial, attempt, final, started, finished, day, order)


def _columns(table: pa.Table) -> tuple[NDArray[np.generic], ...]:
    return (
        hash_strings(table.column("trial_key").combine_chunks()),
        np.asarray(table.column("attempt"), dtype=np.int64),
        np.asarray(table.column("final"), dtype=bool),
        np.asarray(table.column("started_at").cast(pa.int64()), dtype=np.float64),
        np.asarray(table.column("finished_at").cast(pa.int64()), dtype=np.float64),
        np.asarray(table.column("day").cast(pa.int32()), dtype=np.int64),
    )


def hash_strings(array: pa.StringArray) -> NDArray[np.uint64]:
    """A 64-bit hash of each string; equal strings have equal hashes in every process."""
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
    value = lengths.astype(np.uint64)
    with np.errstate(over="ignore"):
        for number in range(words.shape[1]):
            value = (value ^ words[:, number]) * _MULTIPLIERS[number % len(_MULTIPLIERS)]
            value ^= value >> np.uint64(32)
    return value
