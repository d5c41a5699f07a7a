"""Grouping rows by a few key columns in one streaming pass; knows nothing of what is measured.

Each block of rows is reduced to its distinct keys by integer codes and dense counts, and the partial results
are merged in file order, so sums of floats do not depend on who reduced which file. Memory holds one block
per worker, the groups, and a bounded number of partial groups.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from orchestrator.analysis.blocks import Block, Coded, Excluded, Wanted, read_blocks, sortable, unite
from orchestrator.analysis.rows import RowFile

Sums = NDArray[np.float64] | NDArray[np.int64]
Work = Callable[[list[RowFile]], "list[Grouped]"]
Partitioner = Callable[[Work, list[list[RowFile]]], Iterable["list[Grouped]"]]
_DENSE_AT_LEAST = 1 << 18
_MERGE_AT = 400_000


@dataclass(frozen=True, slots=True)
class Grouped:
    """Distinct keys and the sums of their measures, sorted by key. A measure that is absent is 0 everywhere."""

    keys: dict[str, Coded]
    measures: dict[str, Sums]

    def __len__(self) -> int:
        return len(next(iter(self.keys.values())).codes)

    def measure(self, name: str) -> Sums:
        return self.measures.get(name, np.zeros(len(self), dtype=np.int64))

    def take(self, index: NDArray[np.int64]) -> "Grouped":
        keys = {name: coded.take(index) for name, coded in self.keys.items()}
        return Grouped(keys, {name: value[index] for name, value in self.measures.items()})

    def where(self, mask: NDArray[np.bool_]) -> "Grouped":
        return self.take(np.flatnonzero(mask))

    def groups(self, names: Sequence[str]) -> list[tuple[tuple[object, ...], "Grouped"]]:
        """The parts with equal values of some keys, in the order of those values."""
        if not len(self):
            return []
        code = _codes([self.keys[name] for name in names])
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order])) + 1
        parts = []
        for index in np.split(order, starts):
            value = tuple(self.keys[name].values[self.keys[name].codes[index[0]]] for name in names)
            parts.append((value, self.take(index)))
        return sorted(parts, key=lambda part: tuple(sortable(v) for v in part[0]))

    def regroup(self, names: Sequence[str]) -> "Grouped":
        """The same measures summed over fewer keys."""
        return merge([Grouped({name: self.keys[name] for name in names}, self.measures)])

    def to_table(self) -> pa.Table:
        columns = {name: pa.DictionaryArray.from_arrays(c.codes, pa.array(c.values)) for name, c in self.keys.items()}
        return pa.table({**columns, **{name: pa.array(value) for name, value in self.measures.items()}})


class Reduction(Protocol):
    """What is summed per group: the columns it needs, and the sums of one block by code (0 .. size-1)."""

    @property
    def wanted(self) -> Wanted: ...

    def reduce(self, block: Block, code: NDArray[np.int64], size: int) -> dict[str, Sums]: ...


def _mix(columns: Sequence[Coded], rows: int) -> tuple[NDArray[np.int64], int]:
    """One code per row over several columns, and how many codes there can be."""
    varying = sorted((c for c in columns if len(c.values) > 1), key=lambda c: -len(c.values))
    code = np.zeros(rows, dtype=np.int64)
    size = 1
    for number, column in enumerate(varying):
        if number and _follows(column, varying[0]):
            continue
        width = len(column.values)
        if size > 1:
            code *= width
        code += column.codes
        size *= width
        if size > max(_DENSE_AT_LEAST, 2 * rows):
            distinct, inverse = np.unique(code, return_inverse=True)
            code, size = inverse.astype(np.int64), len(distinct)
    return code, size


def _follows(column: Coded, other: Coded) -> bool:
    """Whether a column's value follows from another's in these rows, and so splits no group."""
    value = np.zeros(len(other.values), dtype=np.int32)
    value[other.codes] = column.codes
    return bool(np.array_equal(value[other.codes], column.codes))


def reduce_block(block: Block, names: Sequence[str], reduction: Reduction) -> Grouped:
    """The groups of one block."""
    columns = {name: block.coded[name] for name in names}
    code, size = _mix(list(columns.values()), block.rows)
    first = np.full(size, -1, dtype=np.int64)
    first[code] = np.arange(block.rows)
    occupied = np.flatnonzero(first >= 0)
    if len(occupied) < size:
        place = np.zeros(size, dtype=np.int64)
        place[occupied] = np.arange(len(occupied))
        code = place[code]
    sums = reduction.reduce(block, code, len(occupied))
    return Grouped({name: column.take(first[occupied]) for name, column in columns.items()}, sums)


def merge(parts: Sequence[Grouped]) -> Grouped:
    """The sums of several partial results, sorted by key; sums are taken in the order of the parts."""
    keys = {name: unite([part.keys[name] for part in parts]) for name in parts[0].keys}
    distinct, first, inverse = np.unique(_codes(list(keys.values())), return_index=True, return_inverse=True)
    measures: dict[str, Sums] = {}
    for name in dict.fromkeys(name for part in parts for name in part.measures):
        values = np.concatenate([part.measure(name) for part in parts])
        total = np.bincount(inverse, weights=values, minlength=len(distinct))
        measures[name] = total if values.dtype.kind == "f" else np.rint(total).astype(np.int64)
    return Grouped({name: column.take(first) for name, column in keys.items()}, measures)


def _codes(columns: Sequence[Coded]) -> NDArray[np.int64]:
    code = np.zeros(len(columns[0].codes), dtype=np.int64)
    size = 1
    for column in columns:
        width = max(len(column.values), 1)
        if size * width >= 1 << 62:
            distinct, inverse = np.unique(code, return_inverse=True)
            code, size = inverse.astype(np.int64), len(distinct)
        code = code * width + column.codes
        size *= width
    return code


@dataclass(frozen=True, slots=True)
class FileReduction:
    """What a worker does with its files: one partial result per block, in order; picklable."""

    names: tuple[str, ...]
    reduction: Reduction
    excluded: Excluded | None = None

    def __call__(self, files: list[RowFile]) -> list[Grouped]:
        needs = self.reduction.wanted
        wanted = Wanted(tuple(dict.fromkeys((*self.names, *needs.coded))), needs.numbers, needs.flags)
        blocks = read_blocks(files, wanted, self.excluded)
        return [reduce_block(block, self.names, self.reduction) for block in blocks if block.rows]


def group_rows(
    files: Sequence[RowFile],
    names: Sequence[str],
    reduction: Reduction,
    *,
    excluded: Excluded | None = None,
    map_partitions: Partitioner | None = None,
) -> Grouped | None:
    """Every row of the files grouped by the named columns; None where there is no row.

    `map_partitions(function, partitions)` calls a picklable function on each list of files, anywhere, and
    gives the results back in order; threads of this process by default. The result is the same bit for bit.
    """
    run = map_partitions or in_threads
    merged: list[Grouped] = []
    waiting, limit = 0, _MERGE_AT
    for parts in run(FileReduction(tuple(names), reduction, excluded), partitions(files)):
        merged.extend(parts)
        waiting += sum(len(part) for part in parts)
        if waiting > limit:
            merged = [merge(merged)]
            waiting, limit = len(merged[0]), len(merged[0]) + _MERGE_AT
    return merge(merged) if merged else None


def partitions(files: Sequence[RowFile], at_least: int = 8 << 20) -> list[list[RowFile]]:
    """Files in consecutive lists of at least 8 MB, or 64 files, each."""
    lists: list[list[RowFile]] = []
    filled = at_least
    for file in files:
        if filled >= at_least or len(lists[-1]) >= 64:
            lists.append([])
            filled = 0
        lists[-1].append(file)
        filled += file.size_bytes
    return lists


def in_threads(function: Work, parts: list[list[RowFile]]) -> Iterator[list[Grouped]]:
    """The results of a function over partitions, in order, computed by threads of this process."""
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        yield from pool.map(function, parts)
