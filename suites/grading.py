"""What a grader says: the verdict, and the error that takes its place. Pure; shared by all graders."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one outcome.

    `passed` and `score` are None exactly when `error_kind` is set: then no grader could judge, which is
    never a score of 0. `error_kind` "timeout" is GRADER_TIMEOUT, anything else GRADER_ERROR. `flags` name
    what must be looked at ("canary_passed", "changed:/usr/bin/python3"); `details` is what the grader
    printed, bounded.
    """

    passed: bool | None
    score: float | None
    rewards: Mapping[str, float] = field(default_factory=dict)
    grader: str = "reward"
    judge_version: str | None = None
    judge_verdict: str | None = None
    error_kind: str | None = None
    error_message: str | None = None
    flags: tuple[str, ...] = ()
    details: str = ""
    cost_usd: float | None = None


def no_verdict(grader: str, kind: str, message: str, details: str = "") -> Verdict:
    """A verdict that says why there is none."""
    return Verdict(None, None, grader=grader, error_kind=kind, error_message=message, details=details)
