"""The fake keeps the sandbox contract, when its answer behaves like a few programs."""

import pytest

from sandboxes.base import Command, ExecResult, SandboxError
from sandboxes.fake import FakeProvider, FakeSandbox, always_succeeds, answered
from tests.contract.sandbox_contract import SandboxContract, request_for


def run_program(sandbox: FakeSandbox, command: Command) -> ExecResult:
    name, *rest = command.argv
    limit = command.max_output_bytes
    if name == "printf":
        return answered(0, rest[0].encode(), max_output_bytes=limit)
    if name == "cat":
        data = sandbox.read(rest[0])
        if data is None:
            return answered(1, stderr=f"cat: {rest[0]}: No such file or directory\n".encode())
        return answered(0, data, max_output_bytes=limit)
    if name == "head":
        return answered(0, bytes(int(rest[1])), max_output_bytes=limit)
    if name == "env":
        seen = {**({} if command.clean_env else sandbox.request.env), **command.env}
        return answered(0, "".join(f"{key}={value}\n" for key, value in seen.items()).encode())
    if name == "sleep":
        return answered(None if command.timeout_s is not None else 0)
    return answered(127, stderr=f"{name}: not found\n".encode())


class TestFakeSandbox(SandboxContract):
    @pytest.fixture
    def provider(self):
        return FakeProvider(run_program)


def test_whatever_the_answer_raises_comes_out():
    def answer(sandbox, command):
        raise SandboxError("the place failed")

    sandbox = FakeProvider(answer).create(request_for(FakeProvider().ensure_image(SandboxContract.image_source)))
    with pytest.raises(SandboxError, match="the place failed"):
        sandbox.exec(Command(("true",)))


def test_processes_that_an_answer_left_are_killed_and_counted():
    def answer(sandbox, command):
        sandbox.alive.append("sleep 1000")
        return answered()

    provider = FakeProvider(answer)
    sandbox = provider.create(request_for(provider.ensure_image(SandboxContract.image_source)))
    sandbox.exec(Command(("daemon",)))
    assert sandbox.processes() == ["sleep 1000"]
    assert sandbox.kill_processes() == 1
    assert sandbox.processes() == []


def test_a_provider_keeps_its_sandboxes_only_when_asked():
    image = FakeProvider().ensure_image(SandboxContract.image_source)
    forgets, keeps = FakeProvider(always_succeeds), FakeProvider(always_succeeds, keep=True)
    for provider in (forgets, keeps):
        for _ in range(3):
            provider.create(request_for(image)).remove()
    assert len(forgets.made) == 0
    assert [sandbox.removed for sandbox in keeps.made] == [True, True, True]
