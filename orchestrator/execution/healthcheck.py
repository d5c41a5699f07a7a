"""Waits until a task's health check passes, with the meaning the engine's own health checks have."""

from collections.abc import Callable

from sandboxes.base import Command, Sandbox
from suites.task import Healthcheck


class HealthcheckFailed(RuntimeError):
    """The check did not pass within its retries."""


def wait_until_healthy(
    sandbox: Sandbox,
    check: Healthcheck,
    workdir: str | None,
    monotonic: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Return at the first pass. Failures within start_period_s do not count; raises HealthcheckFailed."""
    started = monotonic()
    failures = 0
    while True:
        command = Command(("/bin/sh", "-c", check.command), workdir=workdir, timeout_s=check.timeout_s)
        result = sandbox.exec(command)
        if result.exit_code == 0:
            return
        in_start_period = monotonic() - started < check.start_period_s
        failures += not in_start_period
        if failures >= max(1, check.retries):
            why = "no end within its timeout" if result.timed_out else f"exit code {result.exit_code}"
            tail = (result.stdout.text() + result.stderr.text()).strip()[-200:]
            raise HealthcheckFailed(f"health check {check.command!r} failed {failures} time(s): {why} {tail}".rstrip())
        sleep(check.start_interval_s if in_start_period else check.interval_s)
