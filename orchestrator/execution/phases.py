"""Times the phases of one attempt, and knows which one is under way when something fails."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Phases:
    """Seconds per phase; entered several times it adds up, within itself it counts once. The clock is passed in."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self.seconds: dict[str, float] = {}
        self.current: str | None = None
        self._open: set[str] = set()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if name in self._open:
            yield
            return
        outer, self.current = self.current, name
        self._open.add(name)
        started = self._monotonic()
        try:
            yield
        finally:
            self._open.discard(name)
            self._add(name, started)
        self.current = outer

    def _add(self, name: str, started: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + self._monotonic() - started
