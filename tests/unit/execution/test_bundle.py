"""A sweep that was submitted starts from what is kept with its results, on a node that never saw its folder."""

import shutil
from pathlib import Path

import pytest

from orchestrator.config import ConfigError, load_sweep
from orchestrator.execution.bundle import Bundle, bundle_path, deposit, fetch
from orchestrator.execution.shipping import ShippingError, pack
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import read_plan
from tests.builders import make_task

SWEEP = """name = "night"
suite = "suite"
agents = [{ name = "oracle", kind = "oracle" }]
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    home = tmp_path / "laptop"
    make_task(home / "suite" / "one", '[environment]\ndocker_image = "x:1"\n')
    (home / "sweep.toml").write_text(SWEEP)
    config = load_sweep(home / "sweep.toml")
    made = Bundle(config.model_dump(mode="json"), "max_cost_per_solved_usd = 1.0\n", pack(Path(config.suite.path)))
    shutil.rmtree(home)
    return made


def welcome(sweep_id: str) -> None:
    """Nobody is in the way."""


def test_what_is_fetched_is_what_was_submitted(bundle: Bundle, tmp_path: Path) -> None:
    location = str(tmp_path / "results")
    kept = deposit(location, bundle, tmp_path / "head", welcome)
    config, gate = fetch(Root(location), kept.sweep_id, tmp_path / "node")
    assert read_plan(Root(location), kept.sweep_id).name == "night"
    assert Path(config.suite.path).is_relative_to(tmp_path / "node")
    assert (Path(config.suite.path) / "one" / "task.toml").is_file()
    assert (config.name, config.results) == ("night", location)
    assert gate is not None
    assert gate.read_text() == bundle.gate


def test_nothing_is_written_while_another_controller_is_in_the_way(bundle: Bundle, tmp_path: Path) -> None:
    def busy(sweep_id: str) -> None:
        raise RuntimeError(f"{sweep_id} has a controller")

    with pytest.raises(RuntimeError, match=r"night-.* has a controller"):
        deposit(str(tmp_path / "results"), bundle, tmp_path / "head", busy)
    assert not (tmp_path / "results").exists()


def test_another_version_is_refused_and_what_was_not_submitted_is_told(bundle: Bundle, tmp_path: Path) -> None:
    other = Bundle(bundle.config, None, bundle.suite, version="0.0.1")
    with pytest.raises(ShippingError, match=r"passhat 0\.0\.1 submits and the cluster has"):
        deposit(str(tmp_path / "results"), other, tmp_path / "head", welcome)
    with pytest.raises(ConfigError, match="holds no submitted sweep night-1"):
        fetch(Root(tmp_path), "night-1", tmp_path / "node")
    assert not (tmp_path / bundle_path("night-1")).exists()
