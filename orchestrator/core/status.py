"""How an attempt ended and whose doing that was, and which endings count in a score. Pure.

Every other module switches on these two enums; a new ending is a new line here, not a string elsewhere.
"""

from enum import StrEnum


class Origin(StrEnum):
    AGENT = "agent"
    RESOURCES = "resources"
    INFRASTRUCTURE = "infrastructure"
    OPERATOR = "operator"


class Status(StrEnum):
    PASSED = "PASSED"
    FAILED = "FAILED"
    AGENT_ERROR = "AGENT_ERROR"
    AGENT_TIMEOUT = "AGENT_TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    OUT_OF_PIDS = "OUT_OF_PIDS"
    OUT_OF_DISK = "OUT_OF_DISK"
    IMAGE_ERROR = "IMAGE_ERROR"
    SANDBOX_ERROR = "SANDBOX_ERROR"
    GRADER_ERROR = "GRADER_ERROR"
    GRADER_TIMEOUT = "GRADER_TIMEOUT"
    MODEL_ERROR = "MODEL_ERROR"
    LOST = "LOST"
    BUDGET = "BUDGET"
    CANCELLED = "CANCELLED"

    @property
    def origin(self) -> Origin:
        return ORIGIN[self]

    @property
    def has_verdict(self) -> bool:
        """Whether the attempt says something about the agent under its resources."""
        return self.origin in (Origin.AGENT, Origin.RESOURCES)


ORIGIN = {
    Status.PASSED: Origin.AGENT,
    Status.FAILED: Origin.AGENT,
    Status.AGENT_ERROR: Origin.AGENT,
    Status.AGENT_TIMEOUT: Origin.AGENT,
    Status.OUT_OF_MEMORY: Origin.RESOURCES,
    Status.OUT_OF_PIDS: Origin.RESOURCES,
    Status.OUT_OF_DISK: Origin.RESOURCES,
    Status.IMAGE_ERROR: Origin.INFRASTRUCTURE,
    Status.SANDBOX_ERROR: Origin.INFRASTRUCTURE,
    Status.GRADER_ERROR: Origin.INFRASTRUCTURE,
    Status.GRADER_TIMEOUT: Origin.INFRASTRUCTURE,
    Status.MODEL_ERROR: Origin.INFRASTRUCTURE,
    Status.LOST: Origin.INFRASTRUCTURE,
    Status.BUDGET: Origin.OPERATOR,
    Status.CANCELLED: Origin.OPERATOR,
}


class ScoringRule(StrEnum):
    """What counts in a score; chosen when aggregating, printed beside every score."""

    DEFAULT = "default"
    STRICT = "strict"
    AGENT_ONLY = "agent_only"

    def counts(self, status: Status) -> bool:
        """Whether a trial that ended so is in the denominator."""
        if self is ScoringRule.STRICT:
            return True
        if self is ScoringRule.DEFAULT:
            return status.has_verdict
        return status.origin is Origin.AGENT
