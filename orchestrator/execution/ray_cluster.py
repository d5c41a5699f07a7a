"""The machines as Ray has them; see orchestrator.execution.cluster.Cluster.

A worker that outlives its controller keeps what it made until it was told that the row is durable, so it is
not ended while it keeps something: neither when it is retired nor when it was found with nothing under way.
"""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayError

from orchestrator.core.dispatch import Shape
from orchestrator.execution import ray_nodes
from orchestrator.execution.assignment import Assignment, SweepFacts
from orchestrator.execution.cluster import Adopted, AttemptEnded, Capacity, Event, WorkerDied, WorkerReady
from orchestrator.execution.keeping import Held
from orchestrator.execution.ray_workers import OpenWorker, Outliving, ask_held, make_worker, named_actors

LOOK_S = 2.0
"""How old what is known of draining nodes may be."""


class RayCluster:
    """Workers are actors. `ray.init` has been called."""

    def __init__(
        self,
        open_worker: OpenWorker,
        facts: SweepFacts,
        reap_here: Callable[[], int],
        outliving: Outliving | None = None,
    ) -> None:
        self._outliving = outliving
        self._open = ray.put(open_worker) if outliving is None else open_worker
        self._facts = facts
        self._reap_here = reap_here
        self._actors: dict[int, Any] = {}
        self._waiting: dict[Any, tuple[int, str]] = {}
        self._leaving: dict[int, Any] = {}
        self._kept: dict[int, set[str]] = {}
        self._keeper: dict[str, int] = {}
        self._to_tell: dict[int, list[str]] = {}
        self._node_of: dict[int, str] = {}
        self._draining: frozenset[str] = frozenset()
        self._looked_s = -math.inf

    def capacity(self) -> Capacity:
        return ray_nodes.capacity(self._leaving_nodes())

    def _leaving_nodes(self) -> frozenset[str]:
        now_s = time.monotonic()
        if now_s - self._looked_s >= LOOK_S:
            self._draining, self._looked_s = ray_nodes.draining(), now_s
        return self._draining

    def spawn(self, worker: int, shape: Shape) -> None:
        actor = make_worker(shape, self._open, self._facts, self._outliving)
        self._actors[worker] = actor
        self._waiting[actor.ping.remote()] = (worker, "ping")

    def start(self, worker: int, assignment: Assignment) -> None:
        actor = self._actors[worker]
        if self._outliving is None:
            ref = actor.run.remote(assignment)
        else:
            ref = actor.run.remote(assignment, tuple(self._to_tell.pop(worker, ())))
            self._keeps(worker, assignment.attempt_id)
        self._waiting[ref] = (worker, "run")

    def adopt(self) -> list[Adopted]:
        if self._outliving is None:
            return []
        held = enumerate(ask_held(self._outliving.prefix), 1)
        return [self._adopt(worker, actor, node, what) for worker, (actor, node, what) in held]

    def _adopt(self, worker: int, actor: Any, node: str, held: Held) -> Adopted:
        """New workers are asked for as needed, so one with nothing under way only hands over."""
        self._node_of[worker] = node
        for attempt in held.finished:
            self._keeps(worker, attempt)
        if held.begun is not None:
            attempt = str(held.begun["attempt_id"])
            self._actors[worker] = actor
            self._waiting[actor.outcome.remote(attempt)] = (worker, "run")
            self._keeps(worker, attempt)
        elif held.finished:
            self._leaving[worker] = actor
        else:
            ray.kill(actor)
        return Adopted(worker, held.begun, tuple(held.finished.values()))

    def _keeps(self, worker: int, attempt: str) -> None:
        self._kept.setdefault(worker, set()).add(attempt)
        self._keeper[attempt] = worker

    def durable(self, attempts: Sequence[str]) -> None:
        for attempt in attempts:
            worker = self._keeper.pop(attempt, None)
            if worker is None:
                continue
            self._kept[worker].discard(attempt)
            self._to_tell.setdefault(worker, []).append(attempt)
            if worker in self._leaving and not self._kept[worker]:
                self._end(worker, self._leaving.pop(worker))

    def retire(self, worker: int) -> None:
        actor = self._actors.pop(worker, None)
        if actor is None:
            return
        runs = any(who == (worker, "run") for who in self._waiting.values())
        self._waiting = {ref: who for ref, who in self._waiting.items() if who[0] != worker}
        if self._kept.get(worker) and not runs:
            self._leaving[worker] = actor
        else:
            self._end(worker, actor)

    def _end(self, worker: int, actor: Any) -> None:
        self._forget(worker)
        ray.kill(actor)

    def _forget(self, worker: int) -> None:
        for attempt in self._kept.pop(worker, ()):
            self._keeper.pop(attempt, None)
        self._to_tell.pop(worker, None)
        self._node_of.pop(worker, None)

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
        except RayError as error:
            actor = self._actors.pop(worker, None)
            self._forget(worker)
            if actor is not None and self._outliving is not None:
                with contextlib.suppress(RayError):
                    ray.kill(actor)
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return [WorkerDied(worker, " ".join(lines[-3:])[:1000])]
        if call == "ping":
            self._node_of[worker] = value[0]
        leaving = self._node_of.get(worker) in self._leaving_nodes()
        return [WorkerReady(worker, leaving) if call == "ping" else AttemptEnded(worker, value, leaving)]

    def reap(self) -> int:
        """On every node with an engine."""
        return sum(ray_nodes.on_every_node(self._reap_here))

    def leave(self) -> None:
        if self._outliving is None:
            self.close()
        self._drop()

    def close(self) -> None:
        for actor in (*self._actors.values(), *self._leaving.values()):
            ray.kill(actor)
        self._drop()
        if self._outliving is not None:
            for actor in named_actors(self._outliving.prefix):
                ray.kill(actor)

    def _drop(self) -> None:
        for of_worker in (self._actors, self._leaving, self._kept, self._to_tell, self._node_of):
            of_worker.clear()
        self._waiting.clear()
        self._keeper.clear()
