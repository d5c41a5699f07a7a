"""(what the agent said, what the grader said, what the counters say) -> status. Pure.

One table for what each ending means and whose doing it was. Accepted misreadings: an agent that survives
an OOM kill of a child and then fails for another reason is OUT_OF_MEMORY, because its counter says that a
limit touched it; an agent that timed out but whose outcome passes is PASSED, with agent_ending "timeout".
"""

from dataclasses import dataclass

from orchestrator.core.status import Status


@dataclass(frozen=True, slots=True)
class Observed:
    """What is known when an attempt with a sandbox has ended. Counters None: unknown, taken as none."""

    agent_ending: str
    agent_message: str = ""
    passed: bool | None = None
    grader_error: str | None = None
    grader_message: str = ""
    oom_kills_agent: int = 0
    oom_kills_grader: int = 0
    pids_hits: int = 0
    disk_full: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    status: Status
    phase: str | None = None
    kind: str | None = None
    message: str | None = None


def classify(seen: Observed) -> Ending:
    """The status of an attempt whose sandbox worked. Never raises."""
    if seen.agent_ending == "model_error":
        return Ending(Status.MODEL_ERROR, "agent", "model_error", seen.agent_message)
    if seen.agent_ending == "budget":
        return Ending(Status.BUDGET, "agent", "budget", seen.agent_message)
    if seen.passed:
        return Ending(Status.PASSED)
    if seen.grader_error and not (seen.oom_kills_grader or seen.disk_full):
        status = Status.GRADER_TIMEOUT if seen.grader_error == "timeout" else Status.GRADER_ERROR
        return Ending(status, "grade", seen.grader_error, seen.grader_message)
    kills = seen.oom_kills_agent + seen.oom_kills_grader
    if kills:
        phase = "agent" if seen.oom_kills_agent else "grade"
        return Ending(Status.OUT_OF_MEMORY, phase, "oom_kill", f"{kills} OOM kill(s) counted by the cgroup")
    if seen.pids_hits:
        return Ending(Status.OUT_OF_PIDS, "agent", "pids_limit", f"{seen.pids_hits} fork(s) refused by the pids limit")
    if seen.disk_full:
        return Ending(Status.OUT_OF_DISK, "agent", "disk_full", "the writable layer was full")
    if seen.agent_ending == "timeout":
        return Ending(Status.AGENT_TIMEOUT, "agent", "timeout", seen.agent_message)
    if seen.agent_ending == "error":
        return Ending(Status.AGENT_ERROR, "agent", "error", seen.agent_message)
    kind = "limit" if seen.agent_ending == "limit" else None
    return Ending(Status.FAILED, "agent" if kind else None, kind, seen.agent_message if kind else None)
