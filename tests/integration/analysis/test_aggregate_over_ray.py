"""Aggregating over Ray gives the same bytes as here."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from typer.testing import CliRunner

from orchestrator.analysis.rows import row_files
from orchestrator.analysis.scanning import partitions
from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.analysis.tables import TABLES
from orchestrator.cli.main import app
from orchestrator.execution.ray_connection import connect

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def joined() -> Iterator[None]:
    connect(None, cpus=2)
    yield
    ray.shutdown()


def aggregated(root: Path, output: Path, *more: str) -> dict[str, bytes]:
    done = CliRunner().invoke(app, ["aggregate", str(root), "--replicates", "200", "--output", str(output), *more])
    assert done.exit_code == 0, done.output
    (folder,) = (output / "summary").iterdir()
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_ray_changes_no_bit_of_a_summary(joined: None, tmp_path: Path) -> None:
    truth = Truth(
        agents=(AgentTruth("a", ability=1.0), AgentTruth("b")),
        settings=(SettingTruth("1x", "1.0", oom=0.2, infrastructure=0.1), SettingTruth("3x")),
        tasks=20, repeats=4, days=2, judged=True,
    )  # fmt: skip
    root = tmp_path / "results"
    Simulation.of(truth).write(root, files=18)
    assert len(partitions(row_files([str(root)]))) >= 3
    here = aggregated(root, tmp_path / "here")
    spread = aggregated(root, tmp_path / "spread", "--ray", "local")
    assert set(here) == set(spread) >= {f"{name}.parquet" for name in TABLES}
    assert [name for name in here if here[name] != spread[name]] == []
