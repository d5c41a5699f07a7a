"""A sweep file beside a suite of copied probe tasks."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

PROBES = Path(__file__).parents[1] / "data" / "harbor-tasks"
MakeSweep = Callable[..., Path]

SWEEP = """name = "e2e"
suite = "suite"
results = "results"
repeats = {repeats}
seed = 11
[[agents]]
name = "oracle"
kind = "oracle"
[retry]
max = 1
backoff_s = 0
"""


def copy_probes(suite: Path, *names: str) -> Path:
    """Copies of probe tasks, which a test may then change."""
    for name in names:
        shutil.copytree(PROBES / name, suite / name)
    return suite


@pytest.fixture
def make_sweep(tmp_path: Path) -> MakeSweep:
    """Writes sweep.toml with the oracle as the only agent; the suite is for the test to fill."""

    def write(repeats: int = 1, more: str = "") -> Path:
        path = tmp_path / "sweep.toml"
        path.write_text(SWEEP.format(repeats=repeats) + more, encoding="utf-8")
        return path

    return write
