"""Reading all rows once for several purposes at the same time, here in threads or wherever a mapper sends the work.

Memory holds one block per worker and a bounded number of partial results for each purpose. Results are joined in
file order, so they are the same bit for bit whoever read which files.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from orchestrator.analysis.blocks import Block, Excluded, Wanted, read_blocks
from orchestrator.analysis.rows import RowFile

Found = TypeVar("Found")
_JOIN_AT = 200_000


class Gathering(Protocol):
    """One purpose: the columns it needs, what it takes from a block, and how such parts are joined in order."""

    @property
    def wanted(self) -> Wanted: ...

    def take(self, block: Block) -> Any: ...

    def join(self, parts: Sequence[Any]) -> Any: ...

    def size(self, part: Any) -> int: ...


class Partitioner(Protocol):
    """Calls a picklable function on each list of files, anywhere, and gives the results back in order."""

    def __call__(self, work: Callable[[list[RowFile]], Found], parts: list[list[RowFile]], /) -> Iterable[Found]: ...


@dataclass(frozen=True, slots=True)
class FileScan:
    """What a worker does with its files: for each block, the part of every purpose; picklable."""

    gatherings: tuple[Gathering, ...]
    excluded: Excluded | None = None

    def __call__(self, files: list[RowFile]) -> list[list[Any]]:
        wanted = Wanted.union(gathering.wanted for gathering in self.gatherings)
        blocks = read_blocks(files, wanted, self.excluded)
        return [[gathering.take(block) for gathering in self.gatherings] for block in blocks if block.rows]


def gather(
    files: Sequence[RowFile],
    gatherings: Sequence[Gathering],
    *,
    excluded: Excluded | None = None,
    map_partitions: Partitioner | None = None,
) -> list[Any]:
    """The result of each purpose over every row of the files, in one pass; None where there is no row."""
    run = map_partitions or in_threads
    joining = [_Joining(gathering) for gathering in gatherings]
    for blocks in run(FileScan(tuple(gatherings), excluded), partitions(files)):
        for parts in blocks:
            for one, part in zip(joining, parts, strict=True):
                one.add(part)
    return [one.result() for one in joining]


class _Joining:
    """Parts of one purpose, joined whenever they have grown by half."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._parts: list[Any] = []
        self._size, self._limit, self._joined = 0, _JOIN_AT, False

    def add(self, part: Any) -> None:
        self._parts.append(part)
        self._size += self._gathering.size(part)
        self._joined = False
        if self._size > self._limit:
            self.result()

    def result(self) -> Any:
        if self._parts and not self._joined:
            self._parts = [self._gathering.join(self._parts)]
            self._joined = True
            self._size = self._gathering.size(self._parts[0])
            self._limit = self._size + max(_JOIN_AT, self._size // 2)
        return self._parts[0] if self._parts else None


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


def in_threads(work: Callable[[list[RowFile]], Found], parts: list[list[RowFile]]) -> Iterator[Found]:
    """The results of a function over partitions, in order, computed by threads of this process."""
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        yield from pool.map(work, parts)
