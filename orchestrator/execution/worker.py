"""Makes attempts on one node, one at a time. A plain class; execution.ray_cluster makes it an actor.

A worker opens its place once (provider, host snapshot, cores) and is used again for trials of the same
shape. It writes nothing to the results: it hands back rows and evidence, and the driver makes them durable.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

from orchestrator.agents.base import Agent
from orchestrator.agents.settings import AgentSettings
from orchestrator.core.status import Status
from orchestrator.execution.assignment import Assignment, Outcome, SweepFacts
from orchestrator.execution.attempt import Place
from orchestrator.execution.rows import attempt_row
from orchestrator.execution.trial import run_attempt
from sandboxes.snapshot import HostSnapshot

AgentFactory = Callable[[AgentSettings], Agent]


class Serving(Protocol):
    """What serves attempts on a node: a Worker, or one that reads its tasks elsewhere."""

    def run(self, assignment: Assignment) -> Outcome: ...


class Worker:
    """Serves assignments. `place` and `make_agent` are all it knows of engine and models."""

    def __init__(self, facts: SweepFacts, place: Place, make_agent: AgentFactory, host: HostSnapshot) -> None:
        self._facts = facts
        self._place = place
        self._make_agent = make_agent
        self._host = host
        self._host_id = host.host_id
        self._told: set[str] = set()
        self._unsure = False

    def run(self, assignment: Assignment) -> Outcome:
        """One attempt, begun once the engine answers. Returns for every ending.

        Raises EngineUnavailableError when the engine stays away; what else raises is a fault of passhat itself.
        """
        self._place.await_engine(self._unsure)
        agent = self._make_agent(assignment.agent)
        attempt = run_attempt(assignment, self._facts, agent, self._place)
        self._unsure = attempt.ending.status is Status.SANDBOX_ERROR
        row = attempt_row(attempt, self._host, self._place.node, self._facts.columns)
        dimensions = []
        if self._host_id not in self._told:
            self._told.add(self._host_id)
            dimensions.append(("hosts", self._host_id, {**asdict(self._host), "node": self._place.node}))
        key = row["image_key"]
        if attempt.image is not None and isinstance(key, str) and key not in self._told:
            self._told.add(key)
            dimensions.append(("images", key, asdict(attempt.image)))
        for beside in attempt.sidecar_images.values():
            if beside.image_key not in self._told:
                self._told.add(beside.image_key)
                dimensions.append(("images", beside.image_key, asdict(beside)))
        notices = tuple(f"{self._place.node}: {text}" for text in self._place.heard)
        self._place.heard.clear()
        return Outcome(row, attempt.recorder.compressed(), attempt.artifacts, tuple(dimensions), notices)

    def close(self) -> None:
        """Give back what the place keeps between attempts; a process that ends without it leaves that to the reaper."""
        self._place.close()
