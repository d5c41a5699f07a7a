"""A turn to start a container on this host: file locks as slots, as many as the measured start-up time allows.

All processes of a host that use one engine share the slots and the limit, whatever sweep or user they are of.
A slot is freed by the kernel when its holder dies. Where the engine is quick nobody waits.
"""

import contextlib
import hashlib
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sandboxes.base import SandboxError
from sandboxes.locks import DEFAULT_LOCK_FOLDER, FileLock, open_shared, waiting_lock
from sandboxes.start_limit import MOST, StartLimit

LIMIT_TIMEOUT_S = 60.0
FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.1
STATE_BYTES = 80


class StartGate:
    """One for each engine and process. `say` hears a sentence whenever the engine was so slow that fewer may start."""

    def __init__(
        self,
        engine_url: str,
        folder: Path = DEFAULT_LOCK_FOLDER,
        say: Callable[[str], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._folder = folder / "starts" / hashlib.sha256(engine_url.encode()).hexdigest()[:12]
        self._state = self._folder / "limit"
        self._say, self._monotonic, self._sleep = say, monotonic, sleep
        self._random = random.Random(os.getpid())

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Hold a slot for the block, and learn from how long it took. Waits as long as it must."""
        slot = self._take()
        begun_s = self._monotonic()
        try:
            yield
        finally:
            slot.release()
            self._learn(begun_s, self._monotonic())

    def limit(self) -> StartLimit:
        """What all processes of this host have learnt so far."""
        return self._read().at(self._monotonic())

    def _take(self) -> FileLock:
        pause_s = FIRST_PAUSE_S
        while True:
            slots = self.limit().slots
            first = self._random.randrange(slots)
            for number in range(slots):
                lock = FileLock(self._folder / f"slot-{(first + number) % slots}")
                if lock.try_take(f"{os.getpid()}\n"):
                    return lock
            self._sleep(pause_s * self._random.uniform(0.5, 1.0))
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def _learn(self, begun_s: float, ended_s: float) -> None:
        """A limit that cannot be noted is no reason to fail a trial."""
        before = self._read().at(ended_s)
        if before.after(begun_s, ended_s).allowed == before.allowed == MOST:
            return
        with contextlib.suppress(SandboxError, OSError):
            with waiting_lock(self._folder / "learning", LIMIT_TIMEOUT_S, "note how long a start took"):
                before = self._read().at(ended_s)
                after = before.after(begun_s, ended_s)
                if after != before:
                    self._write(after)
            if after.slots < before.slots:
                self._say(
                    f"the engine took {ended_s - begun_s:.1f} s to start a container: at most {after.slots} instead"
                    f" of {before.slots} start at once on this host until it is quicker"
                )

    def _read(self) -> StartLimit:
        try:
            allowed, judged_at_s, lowered_at_s = map(float, self._state.read_text(encoding="utf-8").split())
        except (OSError, ValueError):
            return StartLimit()
        return StartLimit(allowed, judged_at_s, lowered_at_s)

    def _write(self, limit: StartLimit) -> None:
        """In one call and always of one length, so that no reader sees half of it."""
        text = f"{limit.allowed:.4f} {limit.judged_at_s:.3f} {limit.lowered_at_s:.3f}".ljust(STATE_BYTES - 1) + "\n"
        descriptor = open_shared(self._state)
        try:
            os.pwrite(descriptor, text.encode(), 0)
        finally:
            os.close(descriptor)
