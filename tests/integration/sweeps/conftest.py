"""Small suites and a display that only remembers, for sweeps without engine and Ray."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


class Silent:
    """A listener that keeps the names of what it heard."""

    def __init__(self) -> None:
        self.progress = None
        self.heard: list[str] = []

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        self.heard.append(event)

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def task_folder() -> Callable[[Path], Path]:
    """Writes a task whose answer the fake sandbox cannot judge: every trial ends without a verdict."""

    def write(folder: Path) -> Path:
        (folder / "tests").mkdir(parents=True)
        (folder / "solution").mkdir()
        (folder / "task.toml").write_text('[environment]\ndocker_image = "none:latest"\n')
        (folder / "instruction.md").write_text("Do it.\n")
        (folder / "solution" / "solve.sh").write_text("#!/bin/bash\ntrue\n")
        (folder / "tests" / "test.sh").write_text("#!/bin/bash\ntrue\n")
        return folder

    return write
