"""A submitted sweep on the real engine and Ray: its controller is killed, and no attempt is thrown away."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
import ray

from orchestrator.execution.controller import Snapshot
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.ray_controller import ask_snapshot, find_controller, outliving
from orchestrator.execution.ray_workers import actor_names
from sandboxes.docker import DockerProvider
from sandboxes.labels import SWEEP
from tests.builders import make_hello_task

pytestmark = [pytest.mark.docker, pytest.mark.ray]

SWEEP_FILE = """name = "submitted"
suite = "suite"
repeats = 5
results = "rows"
agents = [{ name = "oracle", kind = "oracle" }]
resources = [{ name = "1x" }]
retry = { max = 0 }
"""
LONG_S = 150.0


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    connect(None, cpus=2)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    make_hello_task(tmp_path / "suite" / "slow", first="sleep 5; ")
    (tmp_path / "sweep.toml").write_text(SWEEP_FILE)
    return tmp_path / "sweep.toml"


def passhat(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestrator.cli", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False)


def seen(sweep_id: str, holds: Callable[[Snapshot], bool]) -> Snapshot:
    until, found = time.monotonic() + LONG_S, None
    while time.monotonic() < until:
        found = ask_snapshot(sweep_id)
        if found is not None and holds(found):
            return found
        time.sleep(0.2)
    raise AssertionError(f"never seen; last: {found}")


def running(snapshot: Snapshot) -> bool:
    return snapshot.progress is not None and snapshot.progress.running > 0


def took_over(snapshot: Snapshot) -> bool:
    return any("took over" in text for _, text in snapshot.messages)


def rows(sweep: Path) -> list[tuple[object, ...]]:
    files = f"{sweep.parent}/rows/trials/**/*.parquet"
    return duckdb.sql(f"select repeat, attempt, status from read_parquet('{files}') order by all").fetchall()


def left_in_engine(sweep_id: str) -> list[object]:
    with DockerProvider.from_environment(os.environ) as provider:
        wanted = {"label": [f"{SWEEP}={sweep_id}"]}
        return list(provider.engine.client.containers(all=True, filters=wanted))


def test_a_controller_killed_twice_takes_up_what_runs_and_loses_no_attempt(address: str, sweep: Path) -> None:
    done = passhat("submit", str(sweep), "--address", address)
    assert done.returncode == 0, done.stderr
    sweep_id, _ = find_controller("submitted")
    assert f"submitted {sweep_id}" in done.stdout
    again = passhat("submit", str(sweep), "--address", address)
    assert again.returncode == 2
    assert "has a controller in this cluster already" in again.stderr
    process = 0
    for _ in range(2):
        there = seen(sweep_id, lambda s, before=process: s.process != before and running(s))
        process = there.process
        os.kill(process, signal.SIGKILL)
    seen(sweep_id, lambda s, before=process: s.process != before and took_over(s))
    attached = passhat("attach", "submitted", "--address", address)
    assert attached.returncode == 0, attached.stdout + attached.stderr
    assert "5/5 trials" in attached.stderr
    assert rows(sweep) == [(repeat, 0, "PASSED") for repeat in range(5)]
    assert actor_names(outliving(sweep_id).prefix) == []
    assert left_in_engine(sweep_id) == []


def test_cancel_keeps_what_is_there_and_a_new_submission_goes_on(address: str, sweep: Path) -> None:
    sweep.write_text(SWEEP_FILE.replace('"submitted"', '"cancelled"').replace("repeats = 5", "repeats = 3"))
    passhat("submit", str(sweep), "--address", address)
    sweep_id, _ = find_controller("cancelled")
    seen(sweep_id, running)
    done = passhat("cancel", "cancelled", "--address", address, "--now")
    assert done.returncode == 0, done.stderr
    last = seen(sweep_id, lambda s: s.over)
    assert (last.state, last.code) == ("ended", 130)
    assert actor_names(outliving(sweep_id).prefix) == []
    assert left_in_engine(sweep_id) == []
    before = rows(sweep)
    assert {row[2] for row in before} >= {"CANCELLED"}
    again = passhat("submit", str(sweep), "--address", address, "--attach")
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"submitted {sweep_id}" in again.stdout
    after = rows(sweep)
    assert set(before) <= set(after)
    assert sorted(row[0] for row in after if row[2] == "PASSED") == [0, 1, 2]


def test_attaching_to_nothing_says_what_is_there(address: str) -> None:
    done = passhat("attach", "nowhere", "--address", address)
    assert done.returncode == 2
    assert "sweep nowhere was asked for and controllers are here for: " in done.stderr
