"""A submitted sweep over three nodes: one killed, one cut off, its controller killed twice; each trial once, nothing left."""

import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import docker
import pytest
from pyarrow.fs import copy_files

from orchestrator.storage.root import Root
from sandboxes.labels import SWEEP
from tests.builders import make_hello_task
from tests.cluster.nodes import NODES, TestCluster
from tests.cluster.three_nodes import SPANS, assert_no_core_was_used_twice, rows
from tests.s3_server import CREDENTIALS, new_bucket, s3_server

SWEEP_FILE = """name = "losses"
suite = "/tmp/losses/suite"
repeats = 15
results = "{results}"
agents = [{{ name = "oracle", kind = "oracle" }}]
resources = [{{ name = "pinned", pinned = true }}]
retry = {{ max = 4 }}
"""
ASK = """
import json
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.ray_controller import ask_snapshot, find_controller
connect("auto")
sweep_id, _ = find_controller("losses")
seen = ask_snapshot(sweep_id)
progress = seen and seen.progress
print("\\nSEEN " + json.dumps(seen and {"sweep": sweep_id, "process": seen.process, "state": seen.state, "code": seen.code,
    "running": progress.running if progress else 0, "done": progress.done if progress else 0,
    "messages": [text for _, text in seen.messages]}))
"""
ALIVE = """
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.ray_nodes import nodes
connect("auto")
print(len(nodes()))
"""
LONG_S = 400.0


@dataclass(frozen=True, slots=True)
class Place:
    """`location`: the results root as the nodes call it; `here`: a folder for the sweep's files; `rows`: the
    results root as a folder of this machine, if it is one."""

    location: str
    here: Path
    rows: Path | None

    def fetched(self) -> Path:
        """The results as a folder of this machine."""
        if self.rows is not None:
            return self.rows
        root, copy = Root(self.location), self.here / "fetched"
        copy_files(root.path(""), str(copy), source_filesystem=root.filesystem)
        return copy


@pytest.fixture(scope="module")
def cluster() -> Iterator[TestCluster]:
    with TestCluster(environment=CREDENTIALS) as up:
        yield up


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, cluster: TestCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Where a sweep's results go: the folder that all nodes see, or a bucket of a server that all nodes reach."""
    here = cluster.results / "losses"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    if request.param == "folder":
        yield Place("/results/losses/rows", here, here / "rows")
        return
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with s3_server(cluster.outside()) as address:
        yield Place(new_bucket(address, "losses", "rows"), here, None)


def ask(cluster: TestCluster) -> dict[str, object] | None:
    answer = cluster.run("head", ["python", "-c", ASK], timeout_s=120)
    lines = [line for line in answer.stdout.splitlines() if line.startswith("SEEN ")]
    if answer.returncode or not lines:
        return None
    found = json.loads(lines[-1].removeprefix("SEEN "))
    assert found is None or isinstance(found, dict)
    return found


def seen(cluster: TestCluster, holds: object) -> dict[str, object]:
    until, found = time.monotonic() + LONG_S, None
    while time.monotonic() < until:
        found = ask(cluster)
        if found is not None and holds(found):  # type: ignore[operator]
            return found
        time.sleep(0.5)
    raise AssertionError(f"never seen; last: {found}")


def containers(sweep_id: str) -> list[object]:
    client = docker.from_env()
    try:
        return list(client.containers.list(all=True, filters={"label": f"{SWEEP}={sweep_id}"}))
    finally:
        client.close()


def submit(cluster: TestCluster, place: Place) -> None:
    folder = place.here
    make_hello_task(folder / "suite" / "slow", first="sleep 8; ")
    (folder / "sweep.toml").write_text(SWEEP_FILE.format(results=place.location))
    # The suite is where only the head sees it: it has to travel.
    assert cluster.run("head", ["rm", "-rf", "/tmp/losses"]).returncode == 0
    assert cluster.run("head", ["cp", "-r", "/results/losses", "/tmp/losses"]).returncode == 0
    shutil.rmtree(folder / "suite")
    done = cluster.run("head", ["passhat", "submit", "/tmp/losses/sweep.toml"])
    assert done.returncode == 0, done.stdout + done.stderr


def assert_each_trial_once(found: list[tuple[object, ...]]) -> None:
    """`found`: repeat, attempt, status and more of all rows."""
    attempts: dict[object, list[tuple[object, object]]] = {}
    for repeat, attempt, status, *_ in sorted(found, key=lambda row: (row[0], row[1])):
        attempts.setdefault(repeat, []).append((attempt, status))
    assert sorted(attempts) == list(range(15))  # type: ignore[type-var]
    for made in attempts.values():
        assert [attempt for attempt, _ in made] == list(range(len(made)))
        assert [status for _, status in made].count("PASSED") == 1
        assert {status for _, status in made[:-1]} <= {"LOST"}


def finished(cluster: TestCluster, place: Place, sweep_id: str) -> list[tuple[object, ...]]:
    """The rows of a sweep that was watched to its end; each trial is there once, and nothing is left."""
    attached = cluster.run("head", ["passhat", "attach", "losses"], timeout_s=LONG_S)
    assert attached.returncode == 0, attached.stdout + attached.stderr
    folder = place.fetched()
    found = rows(folder, "repeat, attempt, status, node, started_at")
    print(Counter((row[2], row[3]) for row in found))
    assert_each_trial_once(found)
    assert_no_core_was_used_twice(rows(folder, SPANS))
    assert containers(sweep_id) == []
    return found


def test_nothing_is_lost_doubled_or_left_when_nodes_and_controllers_die(cluster: TestCluster, place: Place) -> None:
    submit(cluster, place)
    first = seen(cluster, lambda s: s["running"] == 3)
    time.sleep(2)  # a store that others read knows what was begun half a second later
    os.kill(int(str(first["process"])), signal.SIGKILL)
    cluster.kill("worker-1")
    second = seen(cluster, lambda s: s["process"] != first["process"] and s["running"])
    cluster.cut_off("worker-2")
    try:
        os.kill(int(str(second["process"])), signal.SIGKILL)
        seen(cluster, lambda s: s["process"] != second["process"] and s["running"])
        revived = datetime.now(UTC)
        cluster.revive("worker-1")
        time.sleep(45)
    finally:
        cluster.plug_in("worker-2")
    found = finished(cluster, place, str(first["sweep"]))
    assert any(status == "LOST" for _, _, status, *_ in found)
    assert any(node == "worker-1" and started > revived for _, _, _, node, started in found)  # type: ignore[operator]


def test_a_lost_head_costs_the_attempts_under_way_and_nothing_else(cluster: TestCluster, place: Place) -> None:
    submit(cluster, place)
    first = seen(cluster, lambda s: s["done"] >= 2 and s["running"])  # type: ignore[operator]
    cluster.kill("head")
    time.sleep(5)
    cluster.revive("head")
    wait_for_nodes(cluster)
    # Ray forgot everything with its head; the same command goes on from what is in the results.
    submit_again = cluster.run("head", ["passhat", "submit", "/tmp/losses/sweep.toml"])
    assert submit_again.returncode == 0, submit_again.stdout + submit_again.stderr
    assert str(first["sweep"]) in submit_again.stdout
    found = finished(cluster, place, str(first["sweep"]))
    assert 1 <= sum(status == "LOST" for _, _, status, *_ in found) <= 3


def test_nodes_that_are_restarted_one_after_the_other_lose_no_trial(cluster: TestCluster, place: Place) -> None:
    submit(cluster, place)
    first = seen(cluster, lambda s: s["running"] == 3)
    for node in ("worker-1", "worker-2"):
        cluster.restart(node)
        wait_for_nodes(cluster)
        seen(cluster, lambda s: s["state"] != "running" or s["running"] == 3)
    finished(cluster, place, str(first["sweep"]))  # Ray drains for half a minute, so there may be no LOST row


def wait_for_nodes(cluster: TestCluster) -> None:
    """Until Ray answers on all three, and has not the dead in its list."""
    until = time.monotonic() + LONG_S
    while time.monotonic() < until:
        looked = cluster.run("head", ["timeout", "60", "python", "-c", ALIVE])
        if looked.returncode == 0 and looked.stdout.split()[-1:] == [str(len(NODES))]:
            return
        time.sleep(2)
    raise AssertionError(f"the nodes did not come back: {looked.stdout[-500:]} {looked.stderr[-500:]}")
