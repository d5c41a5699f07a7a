"""The machines as Ray has them: one actor for each worker, placed by the promise of its trials' shape.

The only place that makes a Worker an actor. Ray's numbers only admit; the container enforces. Actors ask
for a little of the custom resource `docker`, so that only nodes that have an engine are used.
"""

import os
import re
import socket
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.core.dispatch import Shape
from orchestrator.execution.assignment import Assignment, Outcome, SweepFacts
from orchestrator.execution.cluster import AttemptEnded, Capacity, Event, WorkerDied, WorkerReady
from orchestrator.execution.worker import Worker

DOCKER = "docker"
DOCKER_PER_NODE = 100_000
PROBE_S = 10.0
MIB = 1024 * 1024

OpenWorker = Callable[[SweepFacts], Worker]


class WorkerActor:
    """A Worker behind Ray's calls; opened on its node by a function that travels with it."""

    def __init__(self, open_worker: OpenWorker, facts: SweepFacts) -> None:
        self._worker = open_worker(facts)

    def ping(self) -> tuple[str, int]:
        return self._worker.ping()

    def run(self, assignment: Assignment) -> Outcome:
        return self._worker.run(assignment)


def connect(address: str | None, cpus: int | None = None) -> None:
    """Join a Ray cluster, or start one on this machine when address is None.

    Ray's token authentication stays as Ray sets it: on. A process that has joined already stays where it is,
    so that several sweeps can follow each other in one. Raises ConnectionError with a sentence.
    """
    if ray.is_initialized():
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    if address is None:
        options |= {"address": "local", "num_cpus": cpus or os.cpu_count(), "resources": {DOCKER: DOCKER_PER_NODE}}
    else:
        options |= {"address": address}
        options.pop("include_dashboard")
        _probe(os.environ.get("RAY_ADDRESS", address) if address == "auto" else address)
    try:
        ray.init(**options)
    except Exception as error:  # noqa: BLE001 - a start that takes too long is a bare Exception of Ray's
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if address is None:
            raise ConnectionError(
                f"Ray was to be started on this machine and did not come up: {first}; see what keeps the machine busy,"
                " and run the same command again"
            ) from None
        raise ConnectionError(
            f"no Ray cluster could be joined at {address}: {first}; start one with `ray start`,"
            " or leave --address out to use this machine"
        ) from None


def _probe(address: str) -> None:
    """Ray tries an address for minutes before it gives up; a connection tells at once. Raises ConnectionError."""
    match = re.fullmatch(r"(?:ray://)?\[?([^\[\]/]+?)\]?:([0-9]{1,5})", address)
    if match is None:
        return
    try:
        socket.create_connection((match[1], int(match[2])), timeout=PROBE_S).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(
            f"no Ray cluster could be joined at {address}: {error}; start one with `ray start`,"
            " or leave --address out to use this machine"
        ) from None


class RayCluster:
    """See orchestrator.execution.cluster.Cluster. `ray.init` has been called."""

    def __init__(self, open_worker: OpenWorker, facts: SweepFacts, reap_here: Callable[[], int]) -> None:
        self._open = ray.put(open_worker)
        self._facts = ray.put(facts)
        self._reap_here = reap_here
        self._actors: dict[int, Any] = {}
        self._waiting: dict[Any, tuple[int, str]] = {}

    def capacity(self) -> Capacity:
        nodes = [n["Resources"] for n in _nodes() if n["Alive"] and n["Resources"].get(DOCKER)]
        cpus = [float(n.get("CPU", 0.0)) for n in nodes]
        memory = [float(n.get("memory", 0.0)) / MIB for n in nodes]
        gpus = [float(n.get("GPU", 0.0)) for n in nodes]
        return Capacity(
            sum(cpus),
            sum(memory),
            sum(gpus),
            max(cpus, default=0.0),
            max(memory, default=0.0),
            max(gpus, default=0.0),
            len(nodes),
        )

    def spawn(self, worker: int, shape: Shape) -> None:
        actor_class = ray.remote(WorkerActor).options(
            num_cpus=shape.cpus,
            memory=shape.memory_mb * MIB,
            num_gpus=shape.gpus,
            resources={DOCKER: 1},
            max_restarts=0,
            max_task_retries=0,
        )
        actor: Any = actor_class.remote(self._open, self._facts)
        self._actors[worker] = actor
        self._waiting[actor.ping.remote()] = (worker, "ping")

    def start(self, worker: int, assignment: Assignment) -> None:
        self._waiting[self._actors[worker].run.remote(assignment)] = (worker, "run")

    def retire(self, worker: int) -> None:
        actor = self._actors.pop(worker, None)
        if actor is not None:
            self._waiting = {ref: who for ref, who in self._waiting.items() if who[0] != worker}
            ray.kill(actor)

    def poll(self, timeout_s: float) -> list[Event]:
        if not self._waiting:
            return []
        ready, _ = ray.wait(list(self._waiting), num_returns=1, timeout=timeout_s)
        if ready and len(self._waiting) > 1:
            more, _ = ray.wait(list(self._waiting), num_returns=len(self._waiting), timeout=0)
            ready = more or ready
        return [event for ref in ready for event in self._event(ref)]

    def _event(self, ref: Any) -> list[Event]:
        worker, call = self._waiting.pop(ref)
        try:
            value = ray.get(ref)
        except (RayActorError, RayTaskError, RayError) as error:
            self._actors.pop(worker, None)
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return [WorkerDied(worker, " ".join(lines[-3:])[:1000])]
        return [WorkerReady(worker) if call == "ping" else AttemptEnded(worker, value)]

    def reap(self) -> int:
        """On every node with an engine."""
        task = ray.remote(_reap)
        refs = []
        for node in _nodes():
            if node["Alive"] and node["Resources"].get(DOCKER):
                strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                refs.append(
                    task.options(num_cpus=0, max_retries=0, scheduling_strategy=strategy).remote(self._reap_here)
                )
        done, _ = ray.wait(refs, num_returns=len(refs), timeout=60) if refs else ([], [])
        total = 0
        for ref in done:
            try:
                total += ray.get(ref)
            except RayError:
                continue
        return total

    def close(self) -> None:
        for actor in self._actors.values():
            ray.kill(actor)
        self._actors.clear()
        self._waiting.clear()


def _reap(reap_here: Callable[[], int]) -> int:
    return reap_here()


def _nodes() -> list[dict[str, Any]]:
    return list(ray.nodes())  # type: ignore[no-untyped-call]
