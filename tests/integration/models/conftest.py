"""A scripted model over real HTTP, gateways in front of it, and a sandbox whose commands run on this machine."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.agents.base import AgentContext, ModelEndpoint
from orchestrator.models.gateway import Gateway, GatewayConfig
from orchestrator.models.script import Case, Script, Turn
from orchestrator.models.script_server import ScriptedModel, serve_script
from sandboxes.base import Command, ExecResult, SandboxRequest
from sandboxes.fake import FakeSandbox, answered
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot

KEY = "sk-ant-canary-0123456789abcdef"
INSTRUCTION = "Make the answer 42."


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


@pytest.fixture
def serve(stack: ExitStack) -> Callable[..., tuple[ScriptedModel, str]]:
    """serve(turn, ..) or serve(script=..) -> (the scripted model, its URL)."""

    def start(*turns: Turn, script: Script | None = None, key: str | None = None) -> tuple[ScriptedModel, str]:
        played = script or Script(cases=(Case(match="answer", solve=turns),))
        model = ScriptedModel(played, api_key=key, keep=True)
        return model, stack.enter_context(serve_script(model)).url

    return start


@pytest.fixture
def gateway(stack: ExitStack) -> Callable[..., Gateway]:
    """gateway(upstream, ..) -> a running gateway."""

    def start(upstream: str, key: str = KEY, **settings: object) -> Gateway:
        config = replace(GatewayConfig(upstream=upstream), **settings)  # type: ignore[arg-type]
        return stack.enter_context(Gateway(config, None if config.key_file else key))

    return start


@pytest.fixture
def sandbox(tmp_path: Path) -> FakeSandbox:
    folder = tmp_path / "work"
    folder.mkdir()

    def run(place: FakeSandbox, command: Command) -> ExecResult:
        begin_s = time.monotonic()
        try:
            done = subprocess.run(command.argv, cwd=folder, capture_output=True, timeout=command.timeout_s, check=False)
        except subprocess.TimeoutExpired:
            return answered(None, duration_s=time.monotonic() - begin_s)
        return answered(done.returncode, done.stdout, done.stderr, 0.0, command.max_output_bytes)

    image = ImageSnapshot("fake", "sha256:0", "recipe", "sha256:0")
    return FakeSandbox("s", SandboxRequest(image, ResourceSpec(), Placement(), {}, 60.0), run)


class Trial:
    """What an agent is given, what it recorded, and a clock whose sleeps take no time."""

    def __init__(self) -> None:
        self.events: list[dict[str, object]] = []
        self.slept_s: list[float] = []

    def monotonic(self) -> float:
        return time.monotonic() + sum(self.slept_s)

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)

    def context(self, endpoint: ModelEndpoint | None, **changes: object) -> AgentContext:
        plain = AgentContext(
            instruction=INSTRUCTION,
            attempt_id="a-0",
            timeout_s=60.0,
            user=None,
            workdir=None,
            env={},
            record=lambda event: self.events.append(dict(event)),
            monotonic=self.monotonic,
            sleep=self.sleep,
            endpoint=endpoint,
        )
        return replace(plain, **changes)  # type: ignore[arg-type]

    def of(self, role: str) -> list[dict[str, object]]:
        return [event for event in self.events if event["role"] == role]

    def notes(self, name: str) -> list[dict[str, object]]:
        return [event for event in self.events if event.get("event") == name]


@pytest.fixture
def trial() -> Trial:
    return Trial()
