"""What a worker has on its node, and everything that becomes known of one attempt while it runs."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime

from orchestrator.agents.base import AgentResult, ModelEndpoint, ModelUsage
from orchestrator.core.ending import Ending
from orchestrator.core.status import Status
from orchestrator.execution.assignment import Assignment
from orchestrator.execution.evidence import Recorder
from orchestrator.execution.phases import Phases
from sandboxes.base import SandboxProvider
from sandboxes.private_network import Try
from sandboxes.resources import Counters, EffectiveResources
from sandboxes.snapshot import HostReadings, ImageSnapshot
from suites.grading import Verdict
from suites.judging import Judge


@dataclass(frozen=True, slots=True)
class Place:
    """What a worker has on its node: a provider, its cores, readings, clocks, and a way to the model.

    `await_engine` returns once the engine answers, and removes what the attempt before may have left when told
    True; `start_turn` is held while a container starts. What there is
    to say of the node goes into `heard`, which the worker empties after each attempt. `close` gives
    back what the node keeps between attempts.
    """

    provider: SandboxProvider
    take_cores: Callable[[int], AbstractContextManager[tuple[int, ...]]]
    readings: Callable[[], HostReadings]
    node: str
    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], None] = time.sleep
    endpoint: Callable[[Assignment], ModelEndpoint | None] = lambda _: None
    usage: Callable[[str], ModelUsage | None] = lambda _: None
    closed_network: str | None = None
    gateway_host: str | None = None
    judge: Callable[[Assignment], Judge | None] = lambda _: None
    await_engine: Callable[[bool], None] = lambda _: None
    start_turn: Callable[[], AbstractContextManager[None]] = nullcontext
    heard: list[str] = field(default_factory=list)
    close: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Attempt:
    """Everything that becomes known while one attempt runs; read by orchestrator.execution.rows."""

    assignment: Assignment
    started_at: datetime
    phases: Phases
    recorder: Recorder
    finished_at: datetime | None = None
    ending: Ending = field(default_factory=lambda: Ending(Status.SANDBOX_ERROR, None, "internal", "did not start"))
    agent_result: AgentResult = field(default_factory=lambda: AgentResult("finished"))
    verdict: Verdict | None = None
    grading_mode: str | None = None
    flags: list[str] = field(default_factory=list)
    suspect: bool = False
    image: ImageSnapshot | None = None
    effective: EffectiveResources | None = None
    counters: Counters = field(default_factory=Counters)
    before: HostReadings = field(default_factory=HostReadings)
    after: HostReadings = field(default_factory=HostReadings)
    artifacts: bytes | None = None
    sidecar_images: dict[str, ImageSnapshot] = field(default_factory=dict)
    sidecar_counters: dict[str, Counters] = field(default_factory=dict)
    tries: tuple[Try, ...] = ()
