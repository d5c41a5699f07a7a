"""What a worker is given for one attempt, and what it gives back. Plain values that travel between nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from orchestrator.agents.settings import AgentSettings
from orchestrator.core.dispatch import Job
from sandboxes.resources import ResourceSpec
from suites.task import Task


@dataclass(frozen=True, slots=True)
class SweepFacts:
    """What is the same for every attempt of a sweep; `columns` go on every row as they are."""

    sweep_id: str
    columns: Mapping[str, object]
    timeout_multiplier: float = 1.0
    default_agent_timeout_s: float = 3600.0
    keep_artifacts: bool = True


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt. `columns`: what only the driver knows about the row (queued_at, digests, names).

    `sidecars`: the resources of the task's services by name; `graders`: those of separate graders by step,
    where the task asks for others than the agent's.
    """

    job: Job
    attempt_id: str
    task: Task
    agent: AgentSettings
    resources: ResourceSpec
    runtime: str | None = None
    seed: int = 0
    columns: Mapping[str, object] = field(default_factory=dict)
    sidecars: Mapping[str, ResourceSpec] = field(default_factory=dict)
    graders: Mapping[str, ResourceSpec] = field(default_factory=dict)


def begun_fields(assignment: Assignment, started_at: str | None = None) -> dict[str, object]:
    """What is kept of a begun attempt: enough to write its row, or to take it up, when its controller is gone."""
    job = assignment.job
    fields: dict[str, object] = {
        "task": job.trial.task,
        "agent": job.trial.arm.agent,
        "resources": job.trial.arm.resources,
        "lane": job.trial.arm.lane,
        "wave": job.trial.wave,
        "repeat": job.trial.repeat,
        "attempt": job.attempt,
        "failures": job.failures,
        "trial_key": job.trial.key,
        "attempt_id": assignment.attempt_id,
    }
    started = started_at or datetime.now(UTC).isoformat()
    return {"attempt_id": assignment.attempt_id, "job": fields, "started_at": started}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The row of an attempt as JSON values, and its evidence compressed; None where there is none.

    `dimensions`: (kind, key, fields) of dimension entries the driver may not have seen yet. `notices`:
    sentences about the node, for the log and the display.
    """

    row: dict[str, object]
    transcript: bytes | None = None
    artifacts: bytes | None = None
    dimensions: tuple[tuple[str, str, Mapping[str, object]], ...] = ()
    notices: tuple[str, ...] = ()
