"""What a number is an estimate of, said in one sentence; a number without one is never printed."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimand:
    """The exact meaning of one number.

    unit: what was resampled (task, task cluster, repeat, trial). population: "these exact tasks" or "tasks
    like these". n_min, n_median, n_max: trials per task.
    """

    statistic: str
    k: int | None
    n_min: int
    n_median: float
    n_max: int
    tasks: int
    unit: str
    population: str
    rule: str
    retry_policy: str
    snapshots: int
    resources: str
    days: int
    first_day: str
    last_day: str

    def sentence(self) -> str:
        """One sentence for a reader who sees nothing but the number."""
        trials = (
            f"{self.n_min}" if self.n_min == self.n_max else f"{self.n_min}-{self.n_max} (median {self.n_median:g})"
        )
        days = (
            f"on {self.first_day}" if self.days == 1 else f"on {self.days} days ({self.first_day} to {self.last_day})"
        )
        if self.first_day == "1970-01-01":
            days = "on days that were not recorded"
        machines = "1 environment snapshot" if self.snapshots == 1 else f"{self.snapshots} environment snapshots"
        if not self.snapshots:
            machines = "an unrecorded environment"
        return (
            f"{self.statistic} over {self.tasks} tasks with {trials} trials each, resources {self.resources}, {days}, "
            f"{machines}; scoring rule {self.rule}, {self.retry_policy}; interval for {self.population}, "
            f"resampling the {self.unit}."
        )


@dataclass(frozen=True, slots=True)
class Number:
    """An estimate with its interval, or the reason why there is none."""

    estimate: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""
    reason: str | None = None
    interval_reason: str | None = None


def undefined(reason: str) -> Number:
    """No number, and why."""
    return Number(None, reason=reason)


def retry_sentence(policies: Sequence[object]) -> str:
    """The retry policy in words, from the values of retry_max that occur."""
    known = [str(value) for value in policies if value is not None]
    if not known:
        return "retries unknown"
    if len(policies) > 1:
        return f"mixed retry policies ({', '.join(known)} at most)"
    return (
        "no retries"
        if known == ["0"]
        else f"up to {known[0]} {'retry' if known[0] == '1' else 'retries'} after infrastructure failures"
    )
