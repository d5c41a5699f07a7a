"""Exclusive cores on one host: a core is a file lock, so the kernel frees it when its holder dies.

No server hands cores out, so none can crash; sweeps of several users share one folder and never a core.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sandboxes.base import SandboxError
from sandboxes.host import allowed_cores
from sandboxes.locks import DEFAULT_LOCK_FOLDER, FileLock, waiting_lock

POLL_S = 0.05
SCAN_TIMEOUT_S = 60.0
Cleaner = Callable[[frozenset[int]], frozenset[int]]


class CoreHold:
    """Cores that are this process's alone until it releases them or dies."""

    def __init__(self, locks: dict[int, FileLock]) -> None:
        self._locks = locks

    @property
    def cores(self) -> tuple[int, ...]:
        return tuple(sorted(self._locks))

    def release(self) -> None:
        for lock in self._locks.values():
            lock.release()
        self._locks = {}

    def __enter__(self) -> "CoreHold":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class CoreAllocator:
    """Takes cores on this host. Guarantees: no core is held twice, by whatever process or user with the
    same folder; all cores of a hold are taken at once or none.

    `cores`: those to choose from; None: all that this process may use. `clean` is told which cores were
    just taken, removes what a dead holder left on them, and returns those on which something that must
    stay still runs: they are given back, and others are looked for.
    """

    def __init__(
        self,
        folder: Path = DEFAULT_LOCK_FOLDER,
        cores: Sequence[int] | None = None,
        clean: Cleaner | None = None,
    ) -> None:
        self._folder = folder / "cores"
        self._cores = tuple(sorted(set(allowed_cores() if cores is None else cores)))
        self._clean = clean

    @property
    def size(self) -> int:
        """How many cores there are to share."""
        return len(self._cores)

    def try_take(self, count: int) -> CoreHold | None:
        """`count` exclusive cores, or None when so many are not free now."""
        if count > len(self._cores):
            raise SandboxError(
                f"{count} exclusive cores were asked for, and this host gives {len(self._cores)}: lower the"
                " task's cpus, or use a larger machine"
            )
        taken: dict[int, FileLock] = {}
        try:
            with self._scan():
                for core in self._cores:
                    if len(taken) == count:
                        break
                    lock = FileLock(self._folder / f"core-{core}")
                    if lock.try_take(f"{os.getpid()}\n"):
                        taken[core] = lock
                        self._give_back_busy(taken, core)
        except BaseException:
            CoreHold(taken).release()
            raise
        if len(taken) == count:
            return CoreHold(taken)
        CoreHold(taken).release()
        return None

    def take(self, count: int, timeout_s: float | None = None) -> CoreHold:
        """`count` exclusive cores, waiting until they are free. Raises SandboxError at the timeout."""
        give_up = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            hold = self.try_take(count)
            if hold is not None:
                return hold
            if give_up is not None and time.monotonic() >= give_up:
                raise SandboxError(
                    f"{count} exclusive cores were asked for, and within {timeout_s:.0f} s not so many of"
                    f" {self._cores} became free: see the pids in {self._folder}, or wait longer"
                )
            time.sleep(POLL_S)

    def _give_back_busy(self, taken: dict[int, FileLock], core: int) -> None:
        if self._clean is not None and self._clean(frozenset({core})):
            taken.pop(core).release()

    @contextlib.contextmanager
    def _scan(self) -> Iterator[None]:
        """One process looks for cores at a time, so that two never take half each and both fail."""
        with waiting_lock(self._folder / "scan", SCAN_TIMEOUT_S, "look for free cores"):
            yield
