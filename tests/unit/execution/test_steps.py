"""Several steps in one container: which are reached, what each brings along, and how their endings become one."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.agents.base import AgentResult, ModelUsage
from orchestrator.execution.conclusion import merge_results
from sandboxes.base import Command, ExecResult
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from suites.task import Grading, Step
from tests.unit.execution.test_attempt import ScriptedAgent, attempt, ending, make_task


def steps_answer(rewards: list[str]):
    """Tests of one step after the other write these rewards; setup.sh fails where its text says so."""
    left = iter(rewards)

    def answer(sandbox: FakeSandbox, command: Command) -> ExecResult:
        text = " ".join(command.argv)
        if text.endswith("/setup.sh"):
            script = sandbox.read(command.argv[1]) or b""
            return answered(int(script.split()[-1]), stderr=b"no such tool")
        if "test.sh" in text:
            sandbox.write("/logs/verifier/reward.json", b'{"reward": %s}' % next(left).encode())
        return answered()

    return answer


def run_steps(
    rewards: list[str], steps: list[Step], agent: ScriptedAgent | None = None, **fields: object
) -> tuple[FakeProvider, Mapping[str, object]]:
    provider = FakeProvider(steps_answer(rewards))
    _, row = attempt(provider, agent, make_task(steps=tuple(steps), workdir="/app", **fields))
    return provider, row


def step(name: str, **fields: object) -> Step:
    return Step(name, f"Do {name}.", Grading(), **fields)


def graded_steps(provider: FakeProvider) -> int:
    return sum("test.sh" in " ".join(c.argv) for c in provider.made[0].commands)


def test_all_steps_run_in_one_container_and_the_mean_is_the_score() -> None:
    provider, row = run_steps(["1", "0.5"], [step("one"), step("two")])
    assert (len(provider.made), graded_steps(provider)) == (1, 2)
    assert (row["status"], row["score"]) == ("FAILED", 0.75)


def test_the_last_step_may_decide_alone() -> None:
    _, row = run_steps(["0", "1"], [step("one"), step("two")], reward_strategy="final")
    assert (row["status"], row["score"]) == ("PASSED", 1.0)


@pytest.mark.parametrize("least", [0.5, {"reward": 0.5}])
def test_a_step_is_not_reached_below_the_reward_that_the_one_before_must_give(least: object) -> None:
    provider, row = run_steps(["0.4", "1"], [step("one", min_reward=least), step("two")])
    assert graded_steps(provider) == 1
    assert row["status"] == "FAILED"
    provider, _ = run_steps(["0.5", "1"], [step("one", min_reward=least), step("two")])
    assert graded_steps(provider) == 2


def test_a_step_without_a_verdict_ends_the_trial_without_one() -> None:
    provider, row = run_steps(["nonsense", "1"], [step("one"), step("two")])
    assert graded_steps(provider) == 1
    assert ending(row) == ("GRADER_ERROR", "grade", "malformed")
    assert row["score"] is None


def test_what_a_step_brings_is_copied_before_its_agent_and_its_setup_is_run(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "notes").write_bytes(b"read me")
    (tmp_path / "setup.sh").write_text("exit 0")
    seen: list[bytes | None] = []
    agent = ScriptedAgent(does=lambda sandbox: seen.append(sandbox.read("/app/deep/notes")))
    _, row = run_steps(["1", "1"], [step("one"), step("two", workdir_dir=tmp_path)], agent)
    assert seen == [None, b"read me"]
    assert row["status"] == "PASSED"


def test_a_setup_that_fails_is_the_places_doing_and_names_the_step(tmp_path: Path) -> None:
    (tmp_path / "setup.sh").write_text("exit 7")
    _, row = run_steps(["1"], [step("one", workdir_dir=tmp_path)])
    assert (row["status"], row["failure_kind"]) == ("SANDBOX_ERROR", "SandboxError")
    assert row["failure_message"] == "step one: setup.sh ended with 7: no such tool"


def test_the_worst_ending_stands_and_usage_adds_up() -> None:
    first = AgentResult("timeout", "after 5 s", usage=ModelUsage(tokens_in=5, cost_usd=0.25))
    second = AgentResult("finished", usage=ModelUsage(model="m", tokens_in=7))
    merged = merge_results([first, second])
    assert (merged.ending, merged.message) == ("timeout", "after 5 s")
    assert (merged.usage.tokens_in, merged.usage.cost_usd, merged.usage.tokens_out) == (12, 0.25, None)
    assert merged.usage.model == "m"


def test_no_step_is_a_finished_agent_and_one_is_itself() -> None:
    only = AgentResult("limit", "turns")
    assert merge_results([]).ending == "finished"
    assert merge_results([only]) is only
