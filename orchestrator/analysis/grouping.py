"""Grouping rows by a few key columns; knows nothing of what is measured, nor of files.

Each block of rows is reduced to its distinct keys by integer codes and dense counts, and the partial results
are merged in file order, so sums of floats do not depend on who reduced which file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from orchestrator.analysis.blocks import Block, Coded, Wanted, sortable, unite

Sums = NDArray[np.float64] | NDArray[np.int64]
_DENSE_AT_LEAST = 1 << 18


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
        code, _ = _codes([self.keys[name] for name in names])
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
    for rows in (slice(1000), slice(None)):
        value[other.codes[rows]] = column.codes[rows]
        if not np.array_equal(value[other.codes[rows]], column.codes[rows]):
            return False
    return True


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
    first, inverse = _distinct(list(keys.values()))
    measures: dict[str, Sums] = {}
    for name in dict.fromkeys(name for part in parts for name in part.measures):
        values = np.concatenate([part.measure(name) for part in parts])
        total = np.bincount(inverse, weights=values, minlength=len(first))
        measures[name] = total if values.dtype.kind == "f" else np.rint(total).astype(np.int64)
    return Grouped({name: column.take(first) for name, column in keys.items()}, measures)


def _distinct(columns: Sequence[Coded]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first place of each distinct key, in order of the keys, and which key stands at each place."""
    code, size = _codes(columns)
    if size > max(_DENSE_AT_LEAST, 4 * len(code)):
        _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
        return first, inverse.reshape(-1)
    occupied = np.bincount(code, minlength=size) > 0
    inverse = (np.cumsum(occupied) - 1)[code]
    first = np.empty(int(occupied.sum()), dtype=np.int64)
    first[inverse[::-1]] = np.arange(len(code))[::-1]
    return first, inverse


def _codes(columns: Sequence[Coded]) -> tuple[NDArray[np.int64], int]:
    """One code per entry that sorts like the columns one after another, and how many codes there can be.

    A column whose value follows from an earlier one (a task's cluster, a wave's day) splits nothing and is skipped.
    """
    code = np.zeros(len(columns[0].codes), dtype=np.int64)
    size = 1
    used: list[Coded] = []
    for column in columns:
        width = max(len(column.values), 1)
        if width == 1 or any(len(one.values) >= width and _follows(column, one) for one in used):
            continue
        if size * width >= 1 << 62:
            distinct, inverse = np.unique(code, return_inverse=True)
            code, size = inverse.astype(np.int64), len(distinct)
        code = code * width + column.codes
        size *= width
        used.append(column)
    return code, size


@dataclass(frozen=True, slots=True)
class GroupedBy:
    """Rows grouped by the named columns and reduced: what a scan gathers from each block; picklable."""

    names: tuple[str, ...]
    reduction: Reduction

    @property
    def wanted(self) -> Wanted:
        needs = self.reduction.wanted
        return Wanted(tuple(dict.fromkeys((*self.names, *needs.coded))), needs.numbers, needs.flags)

    def take(self, block: Block) -> Grouped:
        return reduce_block(block, self.names, self.reduction)

    def join(self, parts: Sequence[Grouped]) -> Grouped:
        return merge(parts)

    def size(self, part: Grouped) -> int:
        return len(part)
