"""A node that is being drained gets no new trial: its workers hand over what they run, and are not used again."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from orchestrator.core.dispatch import Shape
from orchestrator.execution.cluster import AttemptEnded, WorkerReady
from orchestrator.execution.ray_cluster import RayCluster
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.ray_nodes import draining, engine_nodes
from tests.contract.cluster_contract import FACTS, LONG_S, hear, make_assignment, nothing_to_reap, open_worker

pytestmark = pytest.mark.ray

RAY = str(Path(sys.executable).parent / "ray")
WARNING = [
    "--reason",
    "DRAIN_NODE_REASON_PREEMPTION",
    "--reason-message",
    "spot",
    "--deadline-remaining-seconds",
    "600",
]


@pytest.fixture
def second_node() -> Iterator[str]:
    """The id of a node with two cores, beside one that has none to give."""
    ray.shutdown()
    connect(None, cpus=1)
    address = ray.get_runtime_context().gcs_address
    first = {node["NodeID"] for node in engine_nodes()}
    start = [RAY, "start", "--block", "--disable-usage-stats", "--address", address, "--num-cpus", "2"]
    quiet = subprocess.DEVNULL
    second = subprocess.Popen([*start, "--resources", '{"docker": 100000}'], stdout=quiet, stderr=quiet)
    try:
        until = time.monotonic() + LONG_S
        while len(engine_nodes()) < 2:
            assert time.monotonic() < until
            time.sleep(0.2)
        (there,) = {node["NodeID"] for node in engine_nodes()} - first
        yield there
    finally:
        second.terminate()
        second.wait(30)
        ray.shutdown()


def drain(node: str) -> None:
    address = ray.get_runtime_context().gcs_address
    asked = subprocess.run(
        [RAY, "drain-node", "--address", address, "--node-id", node, *WARNING],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stdout + asked.stderr
    until = time.monotonic() + LONG_S
    while draining() != {node}:
        assert time.monotonic() < until, draining()
        time.sleep(0.2)
    time.sleep(2.5)  # what a cluster knows of draining nodes may be two seconds old


def test_a_draining_node_counts_no_more_and_its_workers_are_to_be_retired(second_node: str) -> None:
    cluster = RayCluster(open_worker, FACTS, nothing_to_reap)
    try:
        assert (cluster.capacity().cpus, cluster.capacity().nodes) == (3.0, 2)
        cluster.spawn(1, Shape(2.0, 64))
        assert hear(cluster, 1) == [WorkerReady(1)]
        node, process = ray.get(cluster._actors[1].ping.remote())
        assert node == second_node
        drain(second_node)
        assert (cluster.capacity().cpus, cluster.capacity().nodes) == (1.0, 1)
        cluster.start(1, make_assignment(0))
        (ended,) = hear(cluster, 1)
        assert isinstance(ended, AttemptEnded)
        assert (ended.worker, ended.leaving) == (1, True)
        cluster.spawn(2, Shape(1.0, 64))
        assert hear(cluster, 1) == [WorkerReady(2)]
        assert ray.get(cluster._actors[2].ping.remote())[0] != second_node
        assert os.path.exists(f"/proc/{process}")
        cluster.retire(1)
    finally:
        cluster.close()
