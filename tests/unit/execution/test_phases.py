"""The timers of an attempt: every second is in one phase, and a failure knows its phase."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.execution.attempt import Place
from orchestrator.execution.phases import Phases
from orchestrator.execution.rows import attempt_row
from orchestrator.execution.trial import run_attempt
from sandboxes.base import Command, ExecResult, SandboxRequest
from sandboxes.fake import HOST, FakeProvider, FakeSandbox, answered
from sandboxes.snapshot import HostReadings
from suites.task import Grading, Healthcheck, Step
from tests.unit.execution.scripted import FACTS, assign
from tests.unit.execution.test_attempt import JOB, ScriptedAgent, make_task


class Clock:
    """Moves only when it is told."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def go_on(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_phase_entered_twice_adds_up() -> None:
    clock = Clock()
    phases = Phases(clock)
    for seconds in (2.0, 3.0):
        with phases("agent"):
            clock.go_on(seconds)
        clock.go_on(100.0)
    assert phases.seconds == {"agent": 5.0}


def test_a_phase_inside_itself_is_counted_once() -> None:
    clock = Clock()
    phases = Phases(clock)
    with phases("grade"):
        clock.go_on(1.0)
        with phases("grade"):
            clock.go_on(2.0)
        clock.go_on(4.0)
    assert phases.seconds == {"grade": 7.0}


def test_a_failure_keeps_its_phase_also_through_what_is_done_afterwards() -> None:
    clock = Clock()
    phases = Phases(clock)

    def fail() -> None:
        with phases("agent"):
            clock.go_on(2.0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with phases("remove"):
        clock.go_on(1.0)
    assert phases.current == "agent"
    assert phases.seconds == {"agent": 2.0, "remove": 1.0}


SECONDS = st.floats(0, 1000)


@given(create=SECONDS, agent=SECONDS, grade=SECONDS, check=SECONDS, mode=st.sampled_from(["shared", "separate"]))
def test_every_second_of_an_attempt_is_in_the_phase_that_spent_it(
    create: float, agent: float, grade: float, check: float, mode: str
) -> None:
    clock = Clock()

    def answer(sandbox: FakeSandbox, command: Command) -> ExecResult:
        clock.go_on(check if "probe" in " ".join(command.argv) else grade if "test.sh" in " ".join(command.argv) else 0)
        return answered()

    def made(request: SandboxRequest) -> None:
        clock.go_on(create)

    def now() -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=clock.now_s)

    place = Place(FakeProvider(answer, fail_create=made), nullcontext, HostReadings, "n", clock, now, clock.go_on)
    task = make_task(steps=(Step("", "Do it.", Grading(mode=mode)),), healthcheck=Healthcheck("probe"))
    worker = ScriptedAgent(does=lambda _: clock.go_on(agent))
    row = attempt_row(run_attempt(replace(assign(JOB), task=task), FACTS, worker, place), HOST, "n", FACTS.columns)
    apart = create if mode == "separate" else 0.0
    wanted = {"create_s": create, "healthcheck_s": check, "agent_s": agent, "grade_s": grade + apart}
    assert {name: row[name] for name in wanted} == pytest.approx(wanted, abs=1e-5)
    assert sum(row[name] for name in wanted) == pytest.approx(row["total_s"], abs=1e-5)
