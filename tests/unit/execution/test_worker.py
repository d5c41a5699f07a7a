"""What a worker does around an attempt: waits for its engine, and hands over what its node has to say."""

from contextlib import contextmanager, nullcontext

from orchestrator.agents.reference import NopAgent
from orchestrator.execution.attempt import Place
from orchestrator.execution.worker import Worker
from sandboxes.base import SandboxError
from sandboxes.fake import HOST, FakeProvider, answered
from sandboxes.snapshot import HostReadings
from tests.unit.execution.scripted import FACTS, assign
from tests.unit.execution.test_attempt import JOB


def worker(answer, **place):
    made = Place(FakeProvider(answer), lambda count: nullcontext(()), HostReadings, "n", **place)
    return Worker(FACTS, made, lambda settings: NopAgent(), HOST)


def test_after_an_attempt_that_failed_with_its_sandbox_what_it_left_is_asked_to_be_removed():
    asked, statuses, faults = [], [], [SandboxError("the engine went away")]

    def answer(sandbox, command):
        if faults:
            raise faults.pop()
        return answered()

    served = worker(answer, await_engine=asked.append)
    for _ in range(3):
        statuses.append(served.run(assign(JOB)).row["status"])
    assert asked == [False, True, False]
    assert statuses == ["SANDBOX_ERROR", "GRADER_ERROR", "GRADER_ERROR"]


def test_what_the_node_says_goes_with_the_next_outcome_once():
    heard = []

    @contextmanager
    def turn():
        yield
        if not heard:
            heard.append("the engine took 7.0 s")

    served = worker(lambda *_: answered(), start_turn=turn, heard=heard)
    first = served.run(assign(JOB))
    assert first.notices == ("n: the engine took 7.0 s",)
    assert heard == []
    assert first.row["start_wait_s"] is not None
