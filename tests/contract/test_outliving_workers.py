"""Workers that outlive their controller: the contract of clusters, and what a controller that follows finds."""

import os
import secrets
import signal
import time
from collections.abc import Iterator

import pytest
import ray

from orchestrator.execution.cluster import AttemptEnded, WorkerDied
from orchestrator.execution.ray_cluster import RayCluster
from orchestrator.execution.ray_workers import Outliving, named_actors
from tests.contract.cluster_contract import (
    FACTS,
    LONG_S,
    SHAPE,
    ClusterContract,
    hear,
    make_assignment,
    nothing_to_reap,
    open_worker,
)

pytestmark = pytest.mark.ray


@pytest.fixture
def names(joined: None) -> Outliving:
    return Outliving(f"passhat-worker/{secrets.token_hex(4)}/", "passhat-controller/none")


@pytest.fixture
def cluster(names: Outliving) -> Iterator[RayCluster]:
    made = RayCluster(open_worker, FACTS, nothing_to_reap, names)
    yield made
    made.close()


def next_cluster(names: Outliving) -> RayCluster:
    return RayCluster(open_worker, FACTS, nothing_to_reap, names)


def gone(names: Outliving) -> bool:
    until = time.monotonic() + LONG_S
    while named_actors(names.prefix):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


class TestOutlivingWorkers(ClusterContract):
    """With the fixtures of this module."""


def test_the_next_controller_hears_what_ran_and_gets_what_had_ended(cluster: RayCluster, names: Outliving) -> None:
    for worker in (1, 2):
        cluster.spawn(worker, SHAPE)
    hear(cluster, 2)
    cluster.start(1, make_assignment(1))
    cluster.start(2, make_assignment(2, "slow"))
    (first,) = hear(cluster, 1)
    assert first.worker == 1
    cluster.leave()

    following = next_cluster(names)
    adopted = {one.begun is not None: one for one in following.adopt()}
    ((begun, outcome),) = adopted[False].finished
    assert (begun["attempt_id"], outcome.row["status"]) == ("k1-0", "PASSED")
    assert adopted[True].begun["attempt_id"] == "k2-0"
    (ended,) = hear(following, 1)
    assert isinstance(ended, AttemptEnded)
    assert (ended.worker, ended.outcome.row["attempt_id"]) == (adopted[True].worker, "k2-0")

    third = next_cluster(names)
    assert {b["attempt_id"] for one in third.adopt() for b, _ in one.finished} == {"k1-0", "k2-0"}
    third.durable(["k1-0", "k2-0"])
    assert gone(names)


def test_a_worker_is_retired_when_its_row_is_durable_and_not_before(cluster: RayCluster, names: Outliving) -> None:
    cluster.spawn(1, SHAPE)
    hear(cluster, 1)
    cluster.start(1, make_assignment(1))
    hear(cluster, 1)
    cluster.retire(1)
    assert len(named_actors(names.prefix)) == 1
    cluster.durable(["k1-0"])
    assert gone(names)


def test_an_adopted_worker_whose_process_ends_is_heard_as_a_death(cluster: RayCluster, names: Outliving) -> None:
    cluster.spawn(1, SHAPE)
    hear(cluster, 1)
    _, process = ray.get(cluster._actors[1].ping.remote())
    cluster.start(1, make_assignment(1, "endless"))
    assert cluster.poll(0.5) == []
    cluster.leave()
    following = next_cluster(names)
    (adopted,) = following.adopt()
    os.kill(process, signal.SIGKILL)
    (event,) = hear(following, 1)
    assert isinstance(event, WorkerDied)
    assert event.worker == adopted.worker


def test_close_ends_also_workers_that_this_controller_never_knew(cluster: RayCluster, names: Outliving) -> None:
    cluster.spawn(1, SHAPE)
    hear(cluster, 1)
    cluster.start(1, make_assignment(1, "endless"))
    cluster.leave()
    next_cluster(names).close()
    assert gone(names)
