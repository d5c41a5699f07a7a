"""What a person did wrong is one sentence on stderr and exit code 2, before anything starts."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.core.columns import SCHEMA_VERSION
from tests.builders import make_task
from tests.end_to_end.command_line import passhat


def assert_one_sentence(completed, *words: str) -> None:
    assert completed.returncode == 2, completed.stderr
    assert "Traceback" not in completed.stdout + completed.stderr
    lines = completed.stderr.strip().splitlines()
    assert len(lines) == 1, completed.stderr
    for word in words:
        assert word in lines[0]


@pytest.fixture
def sweep(tmp_path: Path, make_sweep) -> Path:
    make_task(tmp_path / "suite" / "one")
    return make_sweep()


def test_an_engine_that_does_not_answer(sweep: Path) -> None:
    completed = passhat("run", sweep, DOCKER_HOST="unix:///nonexistent.sock")
    assert_one_sentence(completed, "unix:///nonexistent.sock")
    assert not (sweep.parent / "results" / "trials").exists()


def test_an_unknown_key(sweep: Path) -> None:
    sweep.write_text("repeat = 3\n" + sweep.read_text())
    assert_one_sentence(passhat("run", sweep), str(sweep), "repeat is not a key")
    assert not (sweep.parent / "results").exists()


@pytest.mark.parametrize(("wrong", "key"), [("repeats = -1", "repeats"), ("timeout_multiplier = nan", "timeout")])
def test_a_number_that_cannot_be(sweep: Path, wrong: str, key: str) -> None:
    kept = [line for line in sweep.read_text().splitlines() if not line.startswith(key)]
    sweep.write_text("\n".join([wrong, *kept]))
    assert_one_sentence(passhat("run", sweep), str(sweep), wrong.split(" = ")[0])


def test_a_suite_that_is_not_there(sweep: Path) -> None:
    shutil.rmtree(sweep.parent / "suite")
    assert_one_sentence(passhat("run", sweep), str(sweep.parent / "suite"))


@pytest.mark.parametrize("command", ["run", "summary"])
def test_results_of_a_newer_schema(sweep: Path, command: str) -> None:
    results = sweep.parent / "results"
    folder = results / "trials" / "suite=suite" / "agent=oracle" / "resources=1x" / "day=2031-01-01"
    folder.mkdir(parents=True)
    table = pa.table({"task": ["one"]}).replace_schema_metadata({"passhat.schema_version": str(SCHEMA_VERSION + 1)})
    pq.write_table(table, folder / "part-later-000000.parquet")
    completed = passhat(command, sweep if command == "run" else results)
    assert_one_sentence(completed, f"schema version {SCHEMA_VERSION + 1}", "upgrade passhat")
