"""The test cluster itself: three nodes take trials, share cores, know each other by the token, leave nothing."""

import itertools
import json
import shutil
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import docker
import duckdb
import pytest

from tests.builders import make_hello_task
from tests.cluster.nodes import CHECKOUT, NODES, TestCluster

LOOK = str(CHECKOUT / "tests" / "cluster" / "look.py")
SWEEP = """name = "three"
suite = "suite"
repeats = 9
results = "rows"
agents = [{ name = "oracle", kind = "oracle" }]
resources = [{ name = "pinned", pinned = true }]
retry = { max = 0 }
"""
STRANGER = "import ray; ray.init(address='auto', log_to_driver=False)"


@pytest.fixture(scope="module")
def cluster() -> Iterator[TestCluster]:
    """Up for all tests here, then down, and then nothing of it is in the engine."""
    with TestCluster() as up:
        yield up
    left = {"all": True, "filters": {"label": f"com.docker.compose.project={up.name}"}}
    client = docker.from_env()
    try:
        assert client.containers.list(**left) == []
        assert client.networks.list(filters=left["filters"]) == []
    finally:
        client.close()
    assert not up.token.exists()


@pytest.fixture(scope="module")
def sweep(cluster: TestCluster) -> Path:
    """A sweep of nine trials with an exclusive core each, carried out from the head."""
    folder = cluster.results / "three"
    shutil.rmtree(folder, ignore_errors=True)
    make_hello_task(folder / "suite" / "slow", first="sleep 1; ")
    (folder / "sweep.toml").write_text(SWEEP)
    done = cluster.run("head", ["passhat", "run", "/results/three/sweep.toml", "--address", "auto"])
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "rows"


def rows(root: Path, columns: str) -> list[tuple[object, ...]]:
    return duckdb.sql(f"select {columns} from read_parquet('{root}/trials/**/*.parquet')").fetchall()


def test_all_nodes_take_trials_and_stand_in_the_rows(sweep: Path) -> None:
    found = rows(sweep, "node, status, repeat")
    assert {node for node, _, _ in found} == set(NODES)
    assert [status for _, status, _ in found] == ["PASSED"] * 9
    assert sorted(repeat for _, _, repeat in found) == list(range(9))


TOUCH = timedelta(milliseconds=500)
SPANS = "effective_cpuset, started_at + to_seconds(cores_wait_s::double), finished_at, node"


def assert_no_core_was_used_twice(spans: list[tuple[object, ...]]) -> None:
    """`spans`: SPANS of the rows. An attempt that was lost says no core.

    A row is stamped as finished just after its cores were given back, so spans may touch: by 131 ms on a busy machine.
    A core in use twice would show as the second and more that every trial here works.
    """
    known = [span for span in spans if span[0] is not None]
    by_core = itertools.groupby(sorted(known, key=lambda s: (str(s[0]), s[1])), key=lambda s: s[0])
    for _, held in by_core:
        for one, following in itertools.pairwise(held):
            assert one[2] - TOUCH <= following[1], (one, following)  # type: ignore[operator]


def test_no_core_is_used_twice_though_all_nodes_see_the_same_cores(sweep: Path) -> None:
    assert_no_core_was_used_twice(rows(sweep, SPANS))


def test_nodes_have_names_and_ids_of_their_own_and_see_their_containers_from_the_host(cluster: TestCluster) -> None:
    looked = cluster.run("worker-1", ["python", LOOK])
    found = json.loads(looked.stdout.splitlines()[-1])
    names, ids = zip(*found["nodes"], strict=True)
    assert sorted(names) == sorted(NODES)
    assert len(set(ids)) == 3
    assert found["may_enter"]
    assert found["may_kill"]
    assert found["killed"] == 1
    assert found["peak_bytes"] > 0


def test_who_has_no_token_or_a_wrong_one_is_not_let_in(cluster: TestCluster) -> None:
    assert stat.S_IMODE(cluster.token.stat().st_mode) == 0o600
    for change in ("RAY_AUTH_TOKEN_PATH=/dev/null", "RAY_AUTH_TOKEN=0123456789abcdef0123456789abcdef"):
        refused = cluster.run("worker-2", ["env", change, "timeout", "60", "python", "-c", STRANGER])
        assert refused.returncode != 0
        assert "token" in (refused.stdout + refused.stderr).lower() or "auth" in refused.stderr.lower()
    assert cluster.run("worker-2", ["timeout", "60", "python", "-c", STRANGER]).returncode == 0


def test_a_node_that_is_cut_off_hears_nobody_until_it_is_plugged_in(cluster: TestCluster) -> None:
    reach = ["timeout", "3", "bash", "-c", "exec 3<>/dev/tcp/head/6379"]
    cluster.cut_off("worker-1")
    try:
        assert cluster.run("worker-1", reach).returncode != 0
    finally:
        cluster.plug_in("worker-1")
    assert cluster.run("worker-1", reach).returncode == 0


def test_a_killed_node_is_missed_and_joins_again(cluster: TestCluster) -> None:
    cluster.kill("worker-2")
    assert not cluster.running("worker-2")
    cluster.revive("worker-2")
    cluster.up()
    names = {name for name, _ in json.loads(cluster.run("head", ["python", LOOK]).stdout.splitlines()[-1])["nodes"]}
    assert names == set(NODES)
