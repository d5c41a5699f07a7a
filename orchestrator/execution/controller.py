"""A controller without a terminal: carries a sweep out in a thread, and can be asked and stopped meanwhile.

What a store that is away costs is time: an OSError is tried again, for an hour from the first of several in a
row. A controller that was replaced says so and ends; what else is raised is its last word.
"""

import copy
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.execution.hands import Reins
from orchestrator.execution.progress import Progress
from orchestrator.storage.remote_journal import ReplacedError
from orchestrator.storage.sweeps import SweepBusyError

AGAIN_S = (1.0, 2.0, 5.0, 15.0, 60.0)
GIVE_UP_S = 3600.0
MESSAGES = 50

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """state: "running", "ended", "failed" or "replaced"; `code`: the exit code once ended; `messages`:
    (number, sentence), the last ones; process, node: where the controller is."""

    state: str
    progress: Progress | None
    messages: tuple[tuple[int, str], ...]
    code: int | None
    process: int
    node: str

    @property
    def over(self) -> bool:
        return self.state != "running"


class Watching:
    """A listener that remembers. `progress` is the driver's own, copied when asked for."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self._messages: deque[tuple[int, str]] = deque(maxlen=MESSAGES)
        self._count = 0

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        if event not in ("attempt", "progress"):
            self.say(str(fields.get("message", f"{event} {dict(fields)}")))

    def say(self, text: str) -> None:
        self._count += 1
        self._messages.append((self._count, text))

    def close(self) -> None:
        """Nothing to close."""

    def messages(self) -> tuple[tuple[int, str], ...]:
        return _steady(lambda: tuple(self._messages))

    def progress_now(self) -> Progress | None:
        return _steady(lambda: copy.deepcopy(self.progress))


def _steady(read: Callable[[], T]) -> T:
    """Read what another thread writes; a collection that grew meanwhile is read again."""
    for _ in range(20):
        try:
            return read()
        except RuntimeError:
            continue
    return read()


CarryOut = Callable[[Reins, Watching], int]


class Controller:
    """`carry_out` returns the exit code; it is called again after an OSError."""

    def __init__(
        self,
        carry_out: CarryOut,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._carry_out, self._sleep, self._monotonic = carry_out, sleep, monotonic
        self._reins, self._watching = Reins(), Watching()
        self._state = "running"
        self._code: int | None = None

    def start(self, at_end: Callable[[], None]) -> None:
        threading.Thread(target=self._thread, args=(at_end,), daemon=True).start()

    def snapshot(self) -> Snapshot:
        watching = self._watching
        where = (os.getpid(), socket.gethostname())
        return Snapshot(self._state, watching.progress_now(), watching.messages(), self._code, *where)

    def stop(self, at_once: bool) -> None:
        self._reins.stop(at_once)

    def _thread(self, at_end: Callable[[], None]) -> None:
        self.run()
        at_end()

    def run(self) -> None:
        """Until there is a last word."""
        tries, since = 0, self._monotonic()
        while True:
            begun = self._monotonic()
            try:
                self._code, self._state = self._carry_out(self._reins, self._watching), "ended"
                return
            except ReplacedError as error:
                self._watching.say(str(error))
                self._state = "replaced"
                return
            except Exception as error:  # noqa: BLE001 - its last word, whatever it is
                if self._monotonic() - begun > AGAIN_S[-1]:
                    tries, since = 0, self._monotonic()  # it worked meanwhile
                again = isinstance(error, OSError | SweepBusyError) or isinstance(error.__cause__, OSError)
                if not again or self._reins.let_go or self._monotonic() - since > GIVE_UP_S:
                    self._watching.say(str(error) or type(error).__name__)
                    self._code, self._state = 2, "failed"
                    return
                wait_s = AGAIN_S[min(tries, len(AGAIN_S) - 1)]
                self._watching.say(f"{error}; tried again in {wait_s:g} s")
                tries += 1
                self._sleep(wait_s)
