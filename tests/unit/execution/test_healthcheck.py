"""A health check counts as the engine's own does: failures at the start are free, then so many in a row end it."""

import pytest

from orchestrator.execution.healthcheck import HealthcheckFailed, wait_until_healthy
from sandboxes.base import Command, ExecResult, ImageSource, SandboxRequest
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from sandboxes.resources import Placement, ResourceSpec
from suites.task import Healthcheck


class Service:
    """Answers its check with these results, one after the other; time goes by only while somebody sleeps."""

    def __init__(self, *results: ExecResult) -> None:
        self.left = list(results)
        self.now_s = 0.0
        self.slept: list[float] = []
        provider = FakeProvider(self.answer)
        spec = ResourceSpec(cpus=1.0, cpus_limit=1.0, pinned=False)
        image = provider.ensure_image(ImageSource(reference="img"))
        self.sandbox = provider.create(
            SandboxRequest(image=image, resources=spec, placement=Placement(()), labels={}, deadline_s=9.0)
        )

    def answer(self, sandbox: FakeSandbox, command: Command) -> ExecResult:
        return self.left.pop(0)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

    def wait(self, check: Healthcheck) -> None:
        wait_until_healthy(self.sandbox, check, "/app", lambda: self.now_s, self.sleep)


DOWN, UP, STUCK = answered(1, b"refused"), answered(0), answered(None)


def test_the_first_pass_ends_the_wait() -> None:
    service = Service(UP, DOWN)
    service.wait(Healthcheck("probe"))
    assert service.left == [DOWN]
    assert service.slept == []


def test_failures_within_the_start_period_do_not_count_and_come_at_their_own_pace() -> None:
    service = Service(DOWN, DOWN, DOWN, DOWN, UP)
    service.wait(Healthcheck("probe", interval_s=5.0, start_period_s=3.0, start_interval_s=1.0, retries=2))
    assert service.slept == [1.0, 1.0, 1.0, 5.0]


def test_so_many_failures_end_it_with_what_was_said() -> None:
    service = Service(DOWN, DOWN, DOWN, UP)
    with pytest.raises(HealthcheckFailed, match=r"'probe' failed 3 time\(s\): exit code 1 refused"):
        service.wait(Healthcheck("probe", interval_s=2.0, retries=3))
    assert service.slept == [2.0, 2.0]


def test_a_check_that_does_not_end_is_a_failure_that_says_so() -> None:
    with pytest.raises(HealthcheckFailed, match="no end within its timeout"):
        Service(STUCK).wait(Healthcheck("probe", retries=1))


def test_no_retries_still_means_one_look() -> None:
    with pytest.raises(HealthcheckFailed):
        Service(DOWN).wait(Healthcheck("probe", retries=0))


def test_the_check_is_a_shell_line_in_the_work_folder_with_its_own_timeout() -> None:
    service = Service(UP)
    service.wait(Healthcheck("probe | grep ok", timeout_s=7.0))
    (command,) = service.sandbox.commands
    assert (command.argv, command.workdir, command.timeout_s) == (("/bin/sh", "-c", "probe | grep ok"), "/app", 7.0)
