"""What a task or a sweep asks of an attempt reaches every container that is made for it."""

from dataclasses import replace

import pytest

from orchestrator.execution.making import SAFETY_S, longest_s
from sandboxes.base import Command, ExecResult, ImageSource, NetworkSpec
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from sandboxes.private_network import Try
from sandboxes.resources import ResourceSpec
from suites.task import ArtifactSpec, Grading, Step
from tests.unit.execution import test_attempt
from tests.unit.execution.scripted import FACTS
from tests.unit.execution.test_attempt import ScriptedAgent, attempt, make_task


def passes(sandbox: FakeSandbox, command: Command) -> ExecResult:
    if "test.sh" in " ".join(command.argv):
        sandbox.write("/logs/verifier/reward.json", b'{"reward": 1}')
    return answered()


APART = Grading("separate", tests_dir=None)


def step(grading: Grading = APART, **fields: object) -> Step:
    return Step("", "Do it.", grading, artifacts=(ArtifactSpec("/app/out"),), **fields)


class WithLayers(ScriptedAgent):
    """An agent whose installation is built on top of the task's image."""

    def image_layers(self) -> tuple[str, ...]:
        return ("RUN install-agent",)


def test_a_separate_grader_has_the_tasks_image_without_the_agents_layers() -> None:
    provider = FakeProvider(passes)
    made, row = attempt(provider, WithLayers(), make_task(steps=(step(),)))
    agents, graders = (sandbox.request.image for sandbox in provider.made)
    assert row["status"] == "PASSED"
    assert agents != graders == provider.ensure_image(ImageSource(reference="img"))
    assert made.image == agents


def test_a_separate_grader_has_its_own_image_resources_and_network() -> None:
    provider = FakeProvider(passes, tries=(Try("mirror.test", 443, True), Try("evil.test", None, False, 2)))
    wanted = NetworkSpec("allowlist", ("mirror.test",))
    grading = replace(APART, image=ImageSource(reference="grader"), network=wanted)
    spec = ResourceSpec(cpus=0.5, pinned=False, memory_mb=100)
    _, row = attempt(provider, task=make_task(steps=(step(grading),)), graders={"": spec})
    agents, graders = (sandbox.request for sandbox in provider.made)
    assert (graders.image.reference, graders.resources) == ("grader", spec)
    assert agents.resources != spec
    assert (agents.network.mode, graders.network.mode, graders.network.resolver) == ("none", "allowlist", "10.0.0.2")
    assert "http_proxy" in graders.env
    assert "http_proxy" not in agents.env
    assert (row["network_allowed"], row["network_refused"]) == (["mirror.test:443"], ["evil.test x2"])


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_the_timeout_multiplier_stretches_agent_grader_and_deadline(
    monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    facts = replace(FACTS, timeout_multiplier=factor)
    monkeypatch.setattr(test_attempt, "FACTS", facts)
    contexts = []

    class Seen(ScriptedAgent):
        def run(self, sandbox, context):  # type: ignore[no-untyped-def]
            contexts.append(context)
            return super().run(sandbox, context)

    provider = FakeProvider(passes)
    task = make_task(steps=(step(Grading(timeout_s=20.0), agent_timeout_s=10.0),), setup_timeout_s=0.0)
    attempt(provider, Seen(), task)
    (tests,) = (c for c in provider.made[0].commands if "test.sh" in " ".join(c.argv))
    assert (contexts[0].timeout_s, tests.timeout_s) == (10.0 * factor, 20.0 * factor)
    assert longest_s(task, facts) == provider.made[0].request.deadline_s == SAFETY_S + 30.0 * factor


@pytest.mark.parametrize("mode", ["none", "allowlist"])
def test_a_command_agent_that_asks_a_model_joins_the_closed_network(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    plain = test_attempt.Place
    monkeypatch.setattr(
        test_attempt, "Place", lambda *a, **k: plain(*a, **k, closed_network="closed", gateway_host="10.1.1.1")
    )
    agent = ScriptedAgent()
    agent.needs_model = True
    provider = FakeProvider(passes)
    task = make_task(network=NetworkSpec(mode, ("a.test",) if mode == "allowlist" else ()))
    attempt(provider, agent, task, kind="command")
    request = provider.made[0].request
    joined = {request.network.network_name, *request.network.also}
    assert "closed" in joined
    assert "bridge" not in joined
    if mode == "allowlist":
        assert "10.1.1.1" in request.env["no_proxy"].split(",")
