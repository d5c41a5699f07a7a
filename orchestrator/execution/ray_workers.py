"""Workers as Ray's actors, placed by the promise of their trials' shape. The only place that makes them.

Ray's numbers only admit; the container enforces. Actors ask for a little of the custom resource `docker`, so
that only nodes that have an engine are used. Workers of a controller in the cluster are detached and named:
they outlive it, and the next one finds them by their names.
"""

import contextlib
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray
from ray.exceptions import RayError

from orchestrator.core.dispatch import Shape
from orchestrator.execution.assignment import Assignment, Outcome, SweepFacts
from orchestrator.execution.keeping import Held, KeepingWorker, end_when_orphaned
from orchestrator.execution.ray_connection import DOCKER, NAMESPACE
from orchestrator.execution.ray_nodes import MIB
from orchestrator.execution.worker import Serving

GROUPS = {"ask": 2, "wait": 2}
ADOPT_S = 30.0

OpenWorker = Callable[[SweepFacts], Serving]


@dataclass(frozen=True, slots=True)
class Outliving:
    """Workers are detached under `<prefix><random>` in NAMESPACE and look for the actor `controller`."""

    prefix: str
    controller: str


class WorkerActor:
    """A Worker behind Ray's calls; opened on its node by a function that travels with it."""

    def __init__(self, open_worker: OpenWorker, facts: SweepFacts) -> None:
        self._worker = open_worker(facts)

    def ping(self) -> tuple[str, int]:
        """Its node's id and its process, once it is open."""
        return where_it_is()

    def run(self, assignment: Assignment) -> Outcome:
        return self._worker.run(assignment)


class KeepingActor:
    """A KeepingWorker behind Ray's calls; `run` has one thread, whoever asks has others."""

    def __init__(self, open_worker: OpenWorker, facts: SweepFacts, shape: Shape, controller: str) -> None:
        self._worker = KeepingWorker(open_worker(facts), shape)
        watch = partial(end_when_orphaned, self._worker, partial(actor_lives, controller))
        threading.Thread(target=watch, daemon=True).start()

    @ray.method(concurrency_group="ask")
    def ping(self) -> tuple[str, int]:
        """Its node's id and its process, once it is open."""
        return where_it_is()

    def run(self, assignment: Assignment, durable: tuple[str, ...]) -> Outcome:
        return self._worker.run(assignment, durable)

    @ray.method(concurrency_group="ask")
    def held(self) -> tuple[str, Held]:
        """Its node's id, and what it holds."""
        return where_it_is()[0], self._worker.held()

    @ray.method(concurrency_group="wait")
    def outcome(self, attempt: str) -> Outcome:
        return self._worker.outcome(attempt)


def where_it_is() -> tuple[str, int]:
    """This process's node, by its id, and its own number."""
    return str(ray.get_runtime_context().get_node_id()), os.getpid()


def actor_lives(name: str) -> bool:
    """Whether there is such an actor in our namespace, running or being started again."""
    try:
        ray.get_actor(name, namespace=NAMESPACE)
    except ValueError:
        return False
    except RayError:
        return True
    return True


def make_worker(shape: Shape, open_worker: Any, facts: SweepFacts, outliving: Outliving | None) -> Any:
    """Ask Ray for a worker; the handle is there at once, the process when its promise fits a node.

    What travels to a detached worker travels by value: an object of its controller would die with that.
    """
    options: dict[str, Any] = {
        "num_cpus": shape.cpus,
        "memory": shape.memory_mb * MIB,
        "num_gpus": shape.gpus,
        "resources": {DOCKER: 1},
        "max_restarts": 0,
        "max_task_retries": 0,
    }
    if outliving is None:
        return ray.remote(WorkerActor).options(**options).remote(open_worker, facts)
    options |= {"lifetime": "detached", "namespace": NAMESPACE}
    options["name"] = outliving.prefix + secrets.token_hex(6)
    as_actor: Any = ray.remote
    keeping = as_actor(concurrency_groups=GROUPS)(KeepingActor)
    return keeping.options(**options).remote(open_worker, facts, shape, outliving.controller)


def actor_names(prefix: str) -> list[str]:
    """Names of all our actors that begin so, and live or will."""
    entries = ray.util.list_named_actors(all_namespaces=True)
    return [e["name"] for e in entries if e["namespace"] == NAMESPACE and e["name"].startswith(prefix)]


def named_actors(prefix: str) -> list[Any]:
    """Their handles."""
    handles = []
    for name in actor_names(prefix):
        with contextlib.suppress(ValueError):
            handles.append(ray.get_actor(name, namespace=NAMESPACE))
    return handles


def ask_held(prefix: str) -> list[tuple[Any, str, Held]]:
    """Workers that outlived their controller, their nodes' ids, and what they hold. One that does not answer is ended."""
    asked = {handle.held.remote(): handle for handle in named_actors(prefix)}
    answered, silent = ray.wait(list(asked), num_returns=len(asked), timeout=ADOPT_S) if asked else ([], [])
    found = []
    for ref in answered:
        with contextlib.suppress(RayError):
            found.append((asked[ref], *ray.get(ref)))
    for ref in silent:
        ray.kill(asked[ref])
    return found
