"""Makes the containers of one attempt: the agent's, and fresh ones for separate graders."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.execution.assignment import SweepFacts
from orchestrator.execution.attempt import Attempt, Place
from orchestrator.execution.sidecars import patience_s
from orchestrator.execution.steps import SETUP_SCRIPT_S
from sandboxes.base import NetworkSpec, Sandbox, SandboxRequest
from sandboxes.labels import ATTEMPT, SWEEP
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot
from suites.task import Task

SAFETY_S = 120.0


@dataclass(slots=True)
class SandboxMaker:
    """Makes containers of one attempt, all with the same cores and labels, and the agent's resources unless told."""

    attempt: Attempt
    facts: SweepFacts
    place: Place
    cores: tuple[int, ...]

    @property
    def labels(self) -> dict[str, str]:
        return {SWEEP: self.facts.sweep_id, ATTEMPT: self.attempt.assignment.attempt_id}

    @property
    def deadline_s(self) -> float:
        return longest_s(self.attempt.assignment.task, self.facts)

    def __call__(
        self,
        image: ImageSnapshot,
        network: NetworkSpec,
        phase: str,
        env: Mapping[str, str] | None = None,
        resources: ResourceSpec | None = None,
    ) -> Sandbox:
        assignment = self.attempt.assignment
        task = assignment.task
        request = SandboxRequest(
            image=image,
            resources=resources or assignment.resources,
            placement=Placement(self.cores),
            labels=self.labels,
            deadline_s=self.deadline_s,
            network=network,
            env=task.env if env is None else env,
            capabilities=task.capabilities,
            read_only=task.read_only,
            runtime=assignment.runtime,
        )
        with contextlib.ExitStack() as turn:
            with self.attempt.phases("start_wait"):
                turn.enter_context(self.place.start_turn())
            with self.attempt.phases(phase):
                return self.place.provider.create(request)


def longest_s(task: Task, facts: SweepFacts) -> float:
    """The sum of everything that has a timeout: a container older than that has no owner."""
    total = SAFETY_S + task.setup_timeout_s + sum(patience_s(service.healthcheck) for service in task.services)
    for step in task.steps:
        total += (step.agent_timeout_s or facts.default_agent_timeout_s) * facts.timeout_multiplier
        total += step.grading.timeout_s * facts.timeout_multiplier
        total += sum(hook.timeout_s for hook in step.grading.collect)
        total += SETUP_SCRIPT_S if step.workdir_dir is not None else 0.0
        check = step.healthcheck or task.healthcheck
        if check is not None:
            total += check.start_period_s + (check.interval_s + check.timeout_s) * (check.retries + 1)
    return total
