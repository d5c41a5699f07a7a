"""What can stop a driver: the terminal's Ctrl-C, or whoever asks a controller in the cluster."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Protocol

from orchestrator.execution.driver import Driver


class Grip(Protocol):
    """Takes each driver as it starts; `restored` is around a run; `let_go`: nothing further is to start."""

    let_go: bool

    def take(self, driver: Driver) -> None: ...
    def restored(self) -> AbstractContextManager[None]: ...
    def heard_by(self, say: Callable[[str], None]) -> None: ...


class Hands:
    """Ctrl-C: once lets running trials end, twice ends everything at once. SIGTERM is taken like Ctrl-C."""

    def __init__(self) -> None:
        self._driver: Driver | None = None
        self._say: Callable[[str], None] = print
        self._times = 0
        self.let_go = False

    def heard_by(self, say: Callable[[str], None]) -> None:
        self._say = say

    def take(self, driver: Driver) -> None:
        """From now on signals are for this driver. Called after Ray started, which sets handlers of its own."""
        self._driver = driver
        for which in (signal.SIGINT, signal.SIGTERM):
            signal.signal(which, self._handle)

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        assert self._driver is not None
        self._times += 1
        if self._times == 1:
            self._say("stopping: running trials end, nothing new starts; Ctrl-C again ends everything at once")
            self._driver.stop("interrupted")
        else:
            self._say("ending everything at once")
            self._driver.abort("interrupted twice")

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Leave the handlers as they were found."""
        found = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for which, handler in found.items():
                signal.signal(which, handler)


class Reins:
    """Held by a controller that has no terminal; its methods may be called by any thread."""

    def __init__(self) -> None:
        self._driver: Driver | None = None
        self._say: Callable[[str], None] = lambda _: None
        self._at_once = False
        self.let_go = False

    def heard_by(self, say: Callable[[str], None]) -> None:
        self._say = say

    def take(self, driver: Driver) -> None:
        self._driver = driver
        if self.let_go:
            self._pull()

    def stop(self, at_once: bool = False) -> None:
        """Running trials end and nothing new starts; `at_once`: what runs is cancelled."""
        self.let_go = True
        self._at_once = self._at_once or at_once
        self._say("ending everything at once" if self._at_once else "stopping: running trials end, nothing new starts")
        self._pull()

    def _pull(self) -> None:
        if self._driver is None:
            return
        if self._at_once:
            self._driver.abort("interrupted: cancelled at once")
        else:
            self._driver.stop("interrupted: cancelled")

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Nothing to restore."""
        yield
