"""What every cluster promises the driver: each request is answered by exactly one event, and ends by itself.

The worker behind it is real and has a fake place; what its agents do is in their names.
"""

import os
import time
from contextlib import contextmanager

from orchestrator.agents.base import AgentContext, AgentResult
from orchestrator.agents.reference import NopAgent
from orchestrator.agents.settings import NopSettings
from orchestrator.core.dispatch import Job, Shape
from orchestrator.core.plan import Arm, TrialSpec, attempt_id
from orchestrator.execution.assignment import Assignment, SweepFacts
from orchestrator.execution.attempt import Place
from orchestrator.execution.cluster import AttemptEnded, Cluster, Event, WorkerDied, WorkerReady
from orchestrator.execution.worker import Worker
from sandboxes.base import Command, ExecResult, ImageSource, Sandbox
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from sandboxes.resources import ResourceSpec
from sandboxes.snapshot import HostReadings
from suites.task import Grading, Step, Task

FACTS = SweepFacts("s-1", {"sweep": "s-1", "sweep_name": "s", "suite": "suite"})
SHAPE = Shape(0.5, 64)
LONG_S = 90.0


class EndlessAgent(NopAgent):
    """Goes on until its process is ended."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        while True:
            time.sleep(0.05)


class ExitingAgent(NopAgent):
    """Takes its whole process with it."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        os._exit(3)


class SlowAgent(NopAgent):
    """Takes two seconds."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        time.sleep(2.0)
        return super().run(sandbox, context)


AGENTS = {"nop": NopAgent, "slow": SlowAgent, "endless": EndlessAgent, "exits": ExitingAgent}


def make_agent(settings: NopSettings) -> NopAgent:
    if settings.name == "faulty":
        raise RuntimeError("there is a fault in this worker")
    return AGENTS[settings.name]()


def give_reward(sandbox: FakeSandbox, command: Command) -> ExecResult:
    sandbox.write("/logs/verifier/reward.txt", b"1\n")
    return answered()


@contextmanager
def no_cores(count: int):
    yield tuple(range(count))


def open_worker(facts: SweepFacts) -> Worker:
    provider = FakeProvider(give_reward)
    return Worker(facts, Place(provider, no_cores, HostReadings, "node-1"), make_agent, provider.host())


def cannot_open(facts: SweepFacts) -> Worker:
    raise RuntimeError("this node has no engine")


def nothing_to_reap() -> int:
    return 0


def make_assignment(number: int = 0, agent: str = "nop") -> Assignment:
    trial = TrialSpec(f"k{number}", "t0", Arm(agent, "1x"), 0, 0, number)
    task = Task("t0", "d", None, ImageSource(reference="img"), (Step("", "Do it.", Grading()),))
    spec = ResourceSpec(cpus=0.5, cpus_limit=0.5, pinned=False)
    settings = NopSettings(name=agent, kind="nop")
    return Assignment(Job(trial, SHAPE), attempt_id(trial.key, 0), task, settings, spec)


def hear(cluster: Cluster, count: int) -> list[Event]:
    """The next events, when there are so many; fails where they do not come."""
    until = time.monotonic() + LONG_S
    heard: list[Event] = []
    while len(heard) < count:
        assert time.monotonic() < until, heard
        heard += cluster.poll(0.5)
    assert len(heard) == count, heard
    return heard


class ClusterContract:
    """Subclasses give the fixture `cluster`, whose workers are made by `open_worker`."""

    def test_a_worker_that_is_asked_for_comes_up_and_serves_one_attempt_after_the_other(self, cluster: Cluster) -> None:
        cluster.spawn(7, SHAPE)
        assert hear(cluster, 1) == [WorkerReady(7)]
        for number in range(3):
            cluster.start(7, make_assignment(number))
            (event,) = hear(cluster, 1)
            assert isinstance(event, AttemptEnded), event
            assert event.worker == 7
            assert (event.outcome.row["attempt_id"], event.outcome.row["status"]) == (f"k{number}-0", "PASSED")

    def test_host_and_image_are_told_once_by_each_worker(self, cluster: Cluster) -> None:
        cluster.spawn(1, SHAPE)
        hear(cluster, 1)
        told = []
        for number in range(2):
            cluster.start(1, make_assignment(number))
            (event,) = hear(cluster, 1)
            told.append([kind for kind, _, _ in event.outcome.dimensions])
        assert told == [["hosts", "images"], []]

    def test_every_worker_answers_for_itself(self, cluster: Cluster) -> None:
        for worker in (1, 2):
            cluster.spawn(worker, SHAPE)
        assert {event.worker for event in hear(cluster, 2)} == {1, 2}
        for worker in (1, 2):
            cluster.start(worker, make_assignment(worker))
        ended = {event.worker: event.outcome.row["attempt_id"] for event in hear(cluster, 2)}
        assert ended == {1: "k1-0", 2: "k2-0"}

    def test_a_fault_of_the_worker_is_heard_as_its_death_with_the_reason(self, cluster: Cluster) -> None:
        cluster.spawn(1, SHAPE)
        hear(cluster, 1)
        cluster.start(1, make_assignment(0, "faulty"))
        (event,) = hear(cluster, 1)
        assert isinstance(event, WorkerDied)
        assert event.worker == 1
        assert "there is a fault in this worker" in event.message

    def test_nothing_is_heard_of_a_worker_that_was_retired(self, cluster: Cluster) -> None:
        cluster.spawn(1, SHAPE)
        cluster.retire(1)
        cluster.spawn(2, SHAPE)
        assert hear(cluster, 1) == [WorkerReady(2)]
        cluster.retire(2)
        cluster.retire(2)
        assert cluster.poll(0.0) == []

    def test_nothing_happens_where_nothing_was_asked_for(self, cluster: Cluster) -> None:
        assert cluster.poll(0.0) == []

    def test_capacity_is_that_of_all_nodes_and_of_the_largest(self, cluster: Cluster) -> None:
        there = cluster.capacity()
        assert there.nodes >= 1
        assert 0 < there.largest_cpus <= there.cpus
        assert 0 < there.largest_memory_mb <= there.memory_mb
        assert 0 <= there.largest_gpus <= there.gpus

    def test_reaping_counts_what_was_removed(self, cluster: Cluster) -> None:
        assert cluster.reap() == 0

    def test_close_ends_everything_and_may_come_twice(self, cluster: Cluster) -> None:
        cluster.spawn(1, SHAPE)
        hear(cluster, 1)
        cluster.start(1, make_assignment(0))
        cluster.spawn(2, SHAPE)
        cluster.close()
        cluster.close()
        assert cluster.poll(0.0) == []
