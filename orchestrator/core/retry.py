"""Which endings are tried again, how often and after how long. Pure.

Only what infrastructure did is retried, never what an agent did: a silent retry of failures would turn
pass@1 into pass@k. An attempt that was lost with its controller, or cancelled, says nothing about the trial
and is always taken up again; it does not use up the policy's attempts.
"""

from dataclasses import dataclass

from orchestrator.core.status import Origin, Status

RETRIABLE: frozenset[str] = frozenset(s.value for s in Status if s.origin is Origin.INFRASTRUCTURE)
CONTROLLER_LOST = "controller_lost"
BROKEN_TASK = "broken_task"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`max_retries` further attempts after endings in `causes`, waiting backoff_s, doubled each time."""

    max_retries: int = 2
    causes: frozenset[str] = RETRIABLE
    backoff_s: float = 1.0

    def wait_s(self, status: Status, failures: int) -> float | None:
        """Seconds until the next attempt, or None when this ending stands.

        `failures`: attempts of this trial that have used up the policy, this one included.
        """
        if status.value not in self.causes or failures > self.max_retries:
            return None
        return float(self.backoff_s * 2 ** (failures - 1))


def uses_up(status: Status, failure_kind: str | None) -> bool:
    """Whether an ending counts against the policy's number."""
    return status.origin is Origin.INFRASTRUCTURE and failure_kind != CONTROLLER_LOST


def is_taken_up_again(status: Status, failure_kind: str | None) -> bool:
    """Whether an ending leaves the trial open whatever the policy says."""
    if failure_kind == BROKEN_TASK:
        return False
    return status.origin is Origin.OPERATOR or failure_kind == CONTROLLER_LOST
