"""What is known of a sweep while it runs: counts by arm and origin. A plain object that displays read."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.core.status import Status


@dataclass(slots=True)
class ArmProgress:
    """Counts of one arm; `attempts` counts rows, `done` counts settled trials."""

    planned: int = 0
    done: int = 0
    passed: int = 0
    running: int = 0
    attempts: int = 0
    no_verdict: int = 0
    origins: Counter[str] = field(default_factory=Counter)
    cost_usd: float = 0.0


@dataclass(slots=True)
class Progress:
    """The state of one sweep; times are seconds of the driver's monotonic clock."""

    sweep_id: str
    results: str
    arms: dict[str, ArmProgress] = field(default_factory=dict)
    started_s: float = 0.0
    now_s: float = 0.0
    done_before: int = 0
    waiting: int = 0
    workers: int = 0
    messages: list[str] = field(default_factory=list)

    @property
    def planned(self) -> int:
        return sum(a.planned for a in self.arms.values())

    @property
    def done(self) -> int:
        return sum(a.done for a in self.arms.values())

    @property
    def running(self) -> int:
        return sum(a.running for a in self.arms.values())

    @property
    def remaining_s(self) -> float | None:
        """By the rate of this run so far; None before anything ended."""
        made = self.done - self.done_before
        if made <= 0:
            return None
        return (self.now_s - self.started_s) / made * (self.planned - self.done)

    def begun(self, arm: str) -> None:
        self.arms[arm].running += 1

    def ended(self, row: Mapping[str, object], settled: bool) -> None:
        """A row became durable."""
        arm = self.arms[str(row["arm"])]
        arm.running -= 1
        arm.attempts += 1
        arm.done += settled
        status = Status(str(row["status"]))
        arm.passed += settled and status is Status.PASSED
        arm.no_verdict += settled and not status.has_verdict
        if status is not Status.PASSED:
            arm.origins[status.origin.value] += 1
        cost = row.get("cost_usd")
        arm.cost_usd += cost if isinstance(cost, int | float) else 0.0

    @property
    def without_verdict(self) -> int:
        """Settled trials that say nothing about their agent."""
        return sum(a.no_verdict for a in self.arms.values())
