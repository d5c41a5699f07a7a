"""Ray keeps the contract of clusters, and places, ends and loses real processes."""

import os
import time
from collections.abc import Iterator

import pytest
import ray

from orchestrator.core.dispatch import Shape
from orchestrator.execution.cluster import WorkerDied, WorkerReady
from orchestrator.execution.ray_cluster import RayCluster
from orchestrator.execution.ray_connection import connect
from tests.contract.cluster_contract import (
    FACTS,
    LONG_S,
    SHAPE,
    ClusterContract,
    cannot_open,
    hear,
    make_assignment,
    nothing_to_reap,
    open_worker,
)

pytestmark = pytest.mark.ray


@pytest.fixture
def cluster(joined: None) -> Iterator[RayCluster]:
    made = RayCluster(open_worker, FACTS, nothing_to_reap)
    yield made
    made.close()


class TestRayCluster(ClusterContract):
    """With the fixtures of this module."""


def test_a_process_that_ends_is_heard_as_a_death_and_its_place_can_be_taken(cluster: RayCluster) -> None:
    cluster.spawn(1, Shape(2.0, 64))
    hear(cluster, 1)
    cluster.start(1, make_assignment(0, "exits"))
    (event,) = hear(cluster, 1)
    assert isinstance(event, WorkerDied)
    assert event.message
    cluster.spawn(2, Shape(2.0, 64))
    assert hear(cluster, 1) == [WorkerReady(2)]


def test_a_worker_that_cannot_open_its_place_dies_with_the_reason(joined: None) -> None:
    cluster = RayCluster(cannot_open, FACTS, nothing_to_reap)
    cluster.spawn(1, SHAPE)
    (event,) = hear(cluster, 1)
    assert isinstance(event, WorkerDied)
    assert "this node has no engine" in event.message


def test_a_worker_waits_until_its_promise_fits(cluster: RayCluster) -> None:
    cluster.spawn(1, Shape(2.0, 64))
    hear(cluster, 1)
    cluster.spawn(2, Shape(1.0, 64))
    assert cluster.poll(1.0) == []
    cluster.retire(1)
    assert hear(cluster, 1) == [WorkerReady(2)]


def test_close_ends_the_processes_of_attempts_that_run(cluster: RayCluster) -> None:
    cluster.spawn(1, SHAPE)
    hear(cluster, 1)
    _, process = ray.get(cluster._actors[1].ping.remote())
    cluster.start(1, make_assignment(0, "endless"))
    assert cluster.poll(0.2) == []
    cluster.close()
    until = time.monotonic() + LONG_S
    while os.path.exists(f"/proc/{process}"):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_only_nodes_with_an_engine_count(cluster: RayCluster) -> None:
    there = cluster.capacity()
    assert (there.cpus, there.nodes) == (2.0, 1)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_said_at_once(address: str) -> None:
    ray.shutdown()
    with pytest.raises(ConnectionError, match=rf"no Ray cluster could be joined at {address}: .*ray start"):
        connect(address)


def test_auto_means_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ConnectionError, match=r"no Ray cluster could be joined at 127\.0\.0\.1:1: .*ray start"):
        connect("auto")


def test_ray_that_does_not_come_up_on_this_machine_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(**_: object) -> None:
        raise Exception("The current node timed out during startup. This could happen")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", slow)
    with pytest.raises(ConnectionError, match=r"did not come up: The current node timed out .*same command again"):
        connect(None)
