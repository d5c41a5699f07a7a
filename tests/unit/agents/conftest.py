"""What an agent is given, without a container: an in-memory sandbox and a list of events."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.agents.base import AgentContext
from sandboxes.base import SandboxRequest
from sandboxes.fake import Answer, FakeSandbox, always_succeeds
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot


@pytest.fixture
def place() -> Callable[..., FakeSandbox]:
    def make(answer: Answer = always_succeeds) -> FakeSandbox:
        image = ImageSnapshot("fake", "sha256:0", "recipe", "sha256:0")
        return FakeSandbox("s", SandboxRequest(image, ResourceSpec(), Placement(), {}, 60.0), answer)

    return make


@pytest.fixture
def events() -> list[dict[str, object]]:
    return []


@pytest.fixture
def context(events: list[dict[str, object]]) -> Callable[..., AgentContext]:
    def make(**changes: object) -> AgentContext:
        plain = AgentContext(
            instruction="Do {model} things.",
            attempt_id="a-0",
            timeout_s=60.0,
            user="worker",
            workdir="/app",
            env={"TASK": "1"},
            record=lambda event: events.append(dict(event)),
            monotonic=lambda: 0.0,
            sleep=lambda seconds: None,
        )
        return replace(plain, **changes)  # type: ignore[arg-type]

    return make
