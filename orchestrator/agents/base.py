"""The seam between a trial and what is measured in it: what an agent is given and what it must tell.

An agent sees the sandbox, the instruction and its own settings. It never sees the tests, the solution
(but for the oracle, which says so), the arm's name or another trial.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.models.usage import ModelEndpoint as ModelEndpoint
from orchestrator.models.usage import ModelUsage as ModelUsage
from sandboxes.base import ImageSource, Sandbox


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How the agent ended.

    ending: "finished" (it says it is done), "timeout", "error" (it crashed: AGENT_ERROR), "limit" (a
    declared limit of turns, tokens or context; graded like finished, and named in `message`), "budget"
    (money; origin operator), "model_error" (the API failed for good; origin infrastructure; with the flag
    "auth" the key was refused, and no other attempt can fare better). `user_usage`: what the simulated
    user cost, apart from the agent's own.
    """

    ending: str
    message: str = ""
    exit_code: int | None = None
    usage: ModelUsage = field(default_factory=ModelUsage)
    version: str | None = None
    flags: tuple[str, ...] = ()
    user_usage: ModelUsage | None = None


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What one attempt gives its agent.

    `deadline_s` is the time left for `run`, in seconds from its call; None: no limit. `record` appends
    one event to the transcript (see orchestrator.models.transcript). `monotonic` is the clock.
    """

    instruction: str
    attempt_id: str
    timeout_s: float | None
    user: str | None
    workdir: str | None
    env: Mapping[str, str]
    record: Callable[[Mapping[str, object]], None]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    endpoint: ModelEndpoint | None = None
    solution_dir: Path | None = None
    solution_env: Mapping[str, str] = field(default_factory=dict)
    simulated_user: Mapping[str, object] | None = None
    seed: int = 0


class Agent(Protocol):
    """One configured agent. `setup` and `run` are each called once per attempt, in that order.

    A multi-step task calls `run` once per step in the same sandbox. Neither may raise for what the agent
    or the model did (that is an AgentResult); SandboxError passes through.
    """

    @property
    def needs_solution(self) -> bool: ...

    @property
    def needs_model(self) -> bool: ...

    def image_layers(self) -> tuple[str, ...]:
        """Dockerfile lines that install the agent on top of a task's image; empty for most."""
        ...

    def setup(self, sandbox: Sandbox, context: AgentContext) -> None: ...

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult: ...


def with_layers(source: ImageSource, layers: tuple[str, ...]) -> ImageSource:
    """The task's image with the agent's installation on top."""
    if not layers:
        return source
    return ImageSource(
        reference=source.reference,
        dockerfile_dir=source.dockerfile_dir,
        build_args=source.build_args,
        wheels=source.wheels,
        layers=source.layers + layers,
        build_timeout_s=source.build_timeout_s,
        platform=source.platform,
    )
