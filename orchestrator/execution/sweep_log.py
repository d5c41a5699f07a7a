"""The structured log of a sweep: JSON lines in a file, of which a full disk costs lines and nothing else."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog


class LogFile:
    """Appends whole lines. A line that cannot be written is counted, and told before the next one that can.

    So the log never stands in the way of what tells of a full disk better: the journal, on the same disk.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lost = 0
        self._torn = False

    def write(self, text: str) -> None:
        told = json.dumps({"event": "log_lines_lost", "count": self._lost}) + "\n" if self._lost else ""
        data = ("\n" * self._torn + told + text).encode()
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            self._lost += 1
            return
        self._torn = written < len(data)
        self._lost = self._lost + 1 if self._torn else 0

    def flush(self) -> None:
        """Nothing is held back."""


@contextmanager
def open_log(path: Path) -> Iterator[structlog.typing.FilteringBoundLogger]:
    """The logger of a sweep; nothing of it reaches the terminal. Raises OSError when there can be no file."""
    path.parent.mkdir(parents=True, exist_ok=True)

    def dumps(value: object, **_: object) -> str:
        return json.dumps(value, default=str)

    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield structlog.wrap_logger(
            structlog.WriteLogger(LogFile(descriptor)),  # type: ignore[arg-type]
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(serializer=dumps),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        )
    finally:
        os.close(descriptor)
