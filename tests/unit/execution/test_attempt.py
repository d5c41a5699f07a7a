"""One attempt on a sandbox that is answered by a function: every ending is a row, every container is removed."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count

import pytest

from orchestrator.agents.base import AgentContext, AgentResult
from orchestrator.agents.settings import CommandSettings, NopSettings
from orchestrator.core.dispatch import Job, Shape
from orchestrator.core.plan import Arm, TrialSpec
from orchestrator.execution.attempt import Attempt, Place
from orchestrator.execution.rows import attempt_row
from orchestrator.execution.trial import run_attempt
from orchestrator.storage.rows import check
from sandboxes.base import Command, ExecResult, ImageSource, Sandbox, SandboxError
from sandboxes.fake import HOST, FakeProvider, FakeSandbox, answered
from sandboxes.snapshot import HostReadings
from suites.task import ArtifactSpec, Grading, Healthcheck, Step, Task
from tests.unit.execution.scripted import FACTS, assign, make_task

JOB = Job(TrialSpec("k000", "t0", Arm("a", "1x"), 0, 0, 0), Shape(1.0, 2048))
REWARD = "/logs/verifier/reward.txt"


@dataclass
class ScriptedAgent:
    """Ends as it is told, after doing something in the sandbox."""

    result: AgentResult = AgentResult("finished")  # noqa: RUF009
    does: Callable[[FakeSandbox], object] = lambda _: None
    needs_solution = False
    needs_model = False

    def image_layers(self) -> tuple[str, ...]:
        return ()

    def setup(self, sandbox: Sandbox, context: AgentContext) -> None:
        """Nothing to set up."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        assert isinstance(sandbox, FakeSandbox)
        self.does(sandbox)
        return self.result


def rewards(text: str | None, then: Callable[[FakeSandbox], object] = lambda _: None):
    """An answer whose tests write a reward (None: no reward)."""

    def answer(sandbox: FakeSandbox, command: Command) -> ExecResult:
        if "test.sh" in " ".join(command.argv):
            then(sandbox)
            if text is not None:
                sandbox.write(REWARD, text.encode())
        return answered()

    return answer


def attempt(
    provider: FakeProvider,
    agent: ScriptedAgent | None = None,
    task: Task | None = None,
    kind: str = "nop",
    **given: object,
) -> tuple[Attempt, Mapping[str, object]]:
    """Make one attempt; returns it and its row, checked, with every container gone."""
    provider._keep = True
    clock = count()
    place = Place(
        provider,
        lambda _: nullcontext((0,)),
        HostReadings,
        "n1",
        monotonic=lambda: float(next(clock)),
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        sleep=lambda _: None,
    )
    settings = NopSettings(name="a", kind="nop")
    if kind == "command":
        settings = CommandSettings(name="a", kind="command", argv=("true",))
    assignment = replace(assign(JOB), task=task or make_task(), agent=settings, **given)
    made = run_attempt(assignment, FACTS, agent or ScriptedAgent(), place)
    row = attempt_row(made, HOST, "n1", FACTS.columns)
    check(row | {"final": True})
    assert all(sandbox.removed for sandbox in provider.made)
    return made, row


def ending(row: Mapping[str, object]) -> tuple[object, object, object]:
    return row["status"], row["failure_phase"], row["failure_kind"]


@pytest.mark.parametrize(
    ("reward", "found"),
    [
        ("1", ("PASSED", None, None)),
        ("0", ("FAILED", None, None)),
        (None, ("GRADER_ERROR", "grade", "missing")),
        ("", ("GRADER_ERROR", "grade", "malformed")),
        ("nan", ("GRADER_ERROR", "grade", "malformed")),
        ("passed!", ("GRADER_ERROR", "grade", "malformed")),
    ],
)
def test_what_the_grader_says_is_the_ending_and_no_reward_is_never_zero(
    reward: str | None, found: tuple[object, object, object]
) -> None:
    _, row = attempt(FakeProvider(rewards(reward)))
    assert ending(row) == found
    assert (row["score"] is None) == (found[0] == "GRADER_ERROR")


@pytest.mark.parametrize(
    ("result", "status", "phase"),
    [
        (AgentResult("timeout", "after 5 s"), "AGENT_TIMEOUT", "agent"),
        (AgentResult("error", "crashed", exit_code=3), "AGENT_ERROR", "agent"),
        (AgentResult("limit", "turns"), "FAILED", "agent"),
        (AgentResult("model_error", "529"), "MODEL_ERROR", "agent"),
        (AgentResult("budget", "0.1 USD"), "BUDGET", "agent"),
    ],
)
def test_how_the_agent_ended_is_the_ending_of_an_outcome_that_does_not_pass(
    result: AgentResult, status: str, phase: str
) -> None:
    _, row = attempt(FakeProvider(rewards("0")), ScriptedAgent(result))
    assert (row["status"], row["failure_phase"], row["failure_message"]) == (status, phase, result.message)
    assert (row["agent_ending"], row["agent_exit_code"]) == (result.ending, result.exit_code)


def test_nothing_is_graded_after_the_model_failed() -> None:
    provider = FakeProvider(rewards("1"))
    _, row = attempt(provider, ScriptedAgent(AgentResult("model_error", "529")))
    assert row["passed"] is None
    assert not [c for c in provider.made[0].commands if "test.sh" in " ".join(c.argv)]


def test_an_outcome_that_passes_after_a_timeout_is_a_pass_that_says_so() -> None:
    _, row = attempt(FakeProvider(rewards("1")), ScriptedAgent(AgentResult("timeout")))
    assert (row["status"], row["agent_ending"]) == ("PASSED", "timeout")


def test_an_image_that_cannot_be_built() -> None:
    _, row = attempt(FakeProvider(broken_images=["img"]))
    assert (row["status"], row["failure_phase"], row["image_key"]) == ("IMAGE_ERROR", "image", None)


def fails(_: object) -> None:
    raise SandboxError("no space left on device")


def test_a_container_that_cannot_be_created() -> None:
    _, row = attempt(FakeProvider(fail_create=fails))
    assert ending(row) == ("SANDBOX_ERROR", "create", "SandboxError")
    assert row["failure_message"] == "no space left on device"


def test_a_health_check_that_never_passes() -> None:
    task = make_task(healthcheck=Healthcheck("curl localhost", retries=2))
    _, row = attempt(FakeProvider(lambda *_: answered(1)), task=task)
    assert ending(row) == ("SANDBOX_ERROR", "healthcheck", "healthcheck")
    assert row["agent_s"] is None


def test_anything_unexpected_is_a_row_too() -> None:
    def breaks(_: FakeSandbox) -> None:
        raise ZeroDivisionError("oh")

    _, row = attempt(FakeProvider(), ScriptedAgent(does=breaks))
    assert ending(row) == ("SANDBOX_ERROR", "agent", "internal")
    assert row["failure_message"] == "ZeroDivisionError: oh"


def gone(sandbox: FakeSandbox) -> None:
    sandbox.gone = True


@pytest.mark.parametrize("phase", ["healthcheck", "kill", "grade"])
def test_a_sandbox_removed_from_outside_is_the_places_doing_in_the_phase_it_happened(phase: str) -> None:
    def checks(sandbox: FakeSandbox, command: Command) -> ExecResult:
        text = " ".join(command.argv)
        if (phase == "healthcheck" and "probe" in text) or (phase == "grade" and "test.sh" in text):
            gone(sandbox)
            sandbox.processes()
        return answered()

    agent = ScriptedAgent(does=gone if phase == "kill" else lambda _: None)
    _, row = attempt(FakeProvider(checks), agent, make_task(healthcheck=Healthcheck("probe")))
    assert ending(row) == ("SANDBOX_ERROR", phase, "SandboxGoneError")


def kills(count: int) -> Callable[[FakeSandbox], None]:
    def count_them(sandbox: FakeSandbox) -> None:
        sandbox.used = replace(sandbox.used, oom_kills=count, memory_peak_bytes=99)

    return count_them


@pytest.mark.parametrize("mode", ["shared", "separate"])
@pytest.mark.parametrize(
    ("reward", "agent_kills", "grader_kills", "status", "phase"),
    [
        ("0", 2, 0, "OUT_OF_MEMORY", "agent"),
        ("1", 2, 0, "PASSED", None),
        ("0", 0, 1, "OUT_OF_MEMORY", "grade"),
        (None, 0, 1, "OUT_OF_MEMORY", "grade"),
        ("0", 0, 0, "FAILED", None),
    ],
)
def test_an_out_of_memory_is_counted_where_it_happened(
    mode: str, reward: str | None, agent_kills: int, grader_kills: int, status: str, phase: str | None
) -> None:
    in_grader = kills(grader_kills) if grader_kills else lambda _: None
    task = make_task(steps=(Step("", "Do it.", Grading(mode=mode)),))
    _, row = attempt(FakeProvider(rewards(reward, in_grader)), ScriptedAgent(does=kills(agent_kills)), task)
    assert (row["status"], row["failure_phase"]) == (status, phase)
    if agent_kills:
        assert (row["used_oom_kills"], row["used_memory_peak_bytes"]) == (agent_kills, 99)


def test_the_agent_is_dead_before_anything_of_the_grader_is_there() -> None:
    alive: list[list[str]] = []
    answer = rewards("1", lambda sandbox: alive.append(list(sandbox.alive)))
    attempt(FakeProvider(answer), ScriptedAgent(does=lambda sandbox: sandbox.alive.append("rewarder")))
    assert alive == [[]]


def test_apart_grading_sees_the_artifacts_and_nothing_else_of_the_agent() -> None:
    seen: list[tuple[bytes | None, bytes | None, bytes | None]] = []
    paths = ("/app/answer", "/app/secret", REWARD)
    answer = rewards("1", lambda s: seen.append(tuple(s.read(p) for p in paths)))

    def work(sandbox: FakeSandbox) -> None:
        for path in paths:
            sandbox.write(path, b"1")

    step = Step("", "Do it.", Grading(mode="separate"), artifacts=(ArtifactSpec("/app/answer"),))
    provider = FakeProvider(answer)
    made, row = attempt(provider, ScriptedAgent(does=work), make_task(steps=(step,), image=ImageSource(reference="i")))
    assert seen == [(b"1", None, None)]
    assert (row["grading_mode"], len(provider.made)) == ("separate", 2)
    assert made.artifacts is not None


def test_in_shared_grading_a_reward_the_agent_left_is_taken_away() -> None:
    _, row = attempt(FakeProvider(rewards(None)), ScriptedAgent(does=lambda s: s.write(REWARD, b"1")))
    assert row["status"] == "GRADER_ERROR"


@pytest.mark.parametrize("kind", ["command", "nop"])
def test_a_changed_interpreter_keeps_a_pass_out_of_the_score(kind: str) -> None:
    agent = ScriptedAgent(does=lambda s: s.write("/usr/bin/python3", b"other"))
    _, row = attempt(FakeProvider(rewards("1")), agent, kind=kind)
    assert row["suspect"] is (kind == "command")
    assert ("added:/usr/bin/python3" in row["flags"]) is (kind == "command")
