"""One Harbor result: its rewards, how the trial ended, and what it tells. Reads no file."""

from collections.abc import Iterator, Mapping

from orchestrator.analysis.importers.base import Options, finite, mapping, moment, whole
from orchestrator.core.status import Status

_EXCEPTIONS = {
    "AgentTimeoutError": Status.AGENT_TIMEOUT,
    "AgentSetupTimeoutError": Status.SANDBOX_ERROR,
    "EnvironmentStartTimeoutError": Status.SANDBOX_ERROR,
    "VerifierTimeoutError": Status.GRADER_TIMEOUT,
    "RewardFileNotFoundError": Status.GRADER_ERROR,
    "RewardFileEmptyError": Status.GRADER_ERROR,
    "VerifierOutputParseError": Status.GRADER_ERROR,
    "CancelledError": Status.CANCELLED,
    "ImageBuildError": Status.IMAGE_ERROR,
    "NonZeroAgentExitCodeError": Status.AGENT_ERROR,
}
_PHASES = {
    "setup_s": "agent_setup",
    "create_s": "environment_setup",
    "agent_s": "agent_execution",
    "grade_s": "verifier",
}


def rewards_of(result: Mapping[str, object]) -> tuple[dict[str, float] | None, str | None]:
    """The rewards, and what is odd about them; those that are not all numbers are none."""
    rewards = mapping(mapping(result.get("verifier_result")).get("rewards"))
    if not rewards:
        return None, None
    numbers = {
        key: value for key, value in ((key, finite(value)) for key, value in rewards.items()) if value is not None
    }
    wrong = [key for key in rewards if key not in numbers]
    if wrong:
        said = (
            f"reward {wrong[0]} is {rewards[wrong[0]]!r}, which is no finite number; the row is kept without a verdict"
        )
        return None, said
    return numbers, None


def score_of(rewards: Mapping[str, float] | None) -> float | None:
    """The reward named so, else the mean of all."""
    if not rewards:
        return None
    return rewards.get("reward", sum(rewards.values()) / len(rewards))


def status_of(rewards: Mapping[str, float] | None, exception: Mapping[str, object], options: Options) -> Status:
    """How a trial ended. A reward counts also after an exception, as the harness counts it."""
    kind = str(exception.get("exception_type") or "")
    if rewards is None:
        if not kind or kind == "AgentTimeoutError":
            return Status.GRADER_ERROR
        return _EXCEPTIONS.get(kind, Status.SANDBOX_ERROR)
    decisive = rewards["reward"] if "reward" in rewards else min(rewards.values())
    if decisive >= options.pass_at - 1e-6:
        return Status.PASSED
    ending = _EXCEPTIONS.get(kind)
    return ending if ending in (Status.AGENT_TIMEOUT, Status.AGENT_ERROR) else Status.FAILED


def agent_of(agent: Mapping[str, object]) -> str:
    """Name of the agent and its model."""
    model = mapping(agent.get("model_info")).get("name")
    name = str(agent.get("name") or "unknown")
    return f"{name}+{model}" if model else name


def columns_of(
    result: Mapping[str, object],
    rewards: Mapping[str, float] | None,
    exception: Mapping[str, object],
    status: Status,
) -> dict[str, object]:
    """The further columns that a result tells; of a task of several steps, what its steps tell together."""
    told = result.get("step_results")
    steps = [mapping(step) for step in told] if isinstance(told, list) else []
    used = [mapping(part.get("agent_result")) for part in (steps or [result])]
    agent = mapping(result.get("agent_info"))
    environment = mapping(mapping(result.get("config")).get("environment"))
    memory = whole(environment.get("override_memory_mb"))
    cached, total = _sum(used, "n_cache_tokens"), _sum(used, "n_input_tokens")
    known: dict[str, object] = {
        "agent_version": agent.get("version"),
        "model": mapping(agent.get("model_info")).get("name"),
        "rewards": dict(rewards) if rewards else None,
        "grading_mode": result.get("verifier_environment_mode"),
        "timeout_multiplier": finite(mapping(result.get("config")).get("timeout_multiplier")),
        "requested_cpus": finite(environment.get("override_cpus")),
        "requested_memory_bytes": memory * 1024 * 1024 if memory is not None else None,
        "tokens_in": whole(total - (cached or 0)) if total is not None else None,
        "tokens_cache_read": whole(cached),
        "tokens_out": whole(_sum(used, "n_output_tokens")),
        "cost_usd": _sum(used, "cost_usd"),
        **{column: _seconds([result, *steps], phase) for column, phase in _PHASES.items()},
    }
    if exception:
        known["failure_kind"] = exception.get("exception_type")
        known["failure_message"] = str(exception.get("exception_message") or "")[:300]
        if status in (Status.PASSED, Status.FAILED):
            known["flags"] = [f"graded_after:{exception.get('exception_type')}"]
    return known


def _sum(parts: list[Mapping[str, object]], key: str) -> float | None:
    """Over the steps of a trial, of which one or more tell the number."""
    told = [value for value in (finite(part.get(key)) for part in parts) if value is not None]
    return sum(told) if told else None


def _seconds(parts: list[Mapping[str, object]], name: str) -> float | None:
    """A phase of the trial, or of its steps together."""
    spans = [(moment(phase.get("started_at")), moment(phase.get("finished_at"))) for phase in _phases(parts, name)]
    told = [(end - start).total_seconds() for start, end in spans if start and end]
    return sum(told) if told else None


def _phases(parts: list[Mapping[str, object]], name: str) -> Iterator[Mapping[str, object]]:
    return (mapping(part.get(name)) for part in parts)
