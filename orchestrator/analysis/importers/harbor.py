"""Harbor jobs: one result.json per trial. The job's own aggregate is never read."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    finite,
    load_json,
    mapping,
    moment,
    whole,
)
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


class Harbor:
    """A job folder, a folder of jobs, or one trial folder."""

    name = "harbor"

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and any(_is_trial(child) or _is_job(child) for child in [path, *_folders(path)])

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Trials by job, in order of their start, which numbers the repeats of a task."""
        found = False
        for job in _jobs(path):
            found = True
            trials: list[Trial] = []
            for folder in _folders(job):
                if not _is_trial(folder):
                    continue
                trial = _read_trial(folder, job, options)
                if isinstance(trial, Refused):
                    yield trial
                else:
                    trials.append(trial)
            yield from sorted(trials, key=lambda trial: (str(trial.started_at), trial.source))
            yield from _never_started(job, len(trials))
        if not found:
            raise UnreadableImportError(
                f"Harbor jobs were asked for in {path}, but no trial folder was found: give jobs/<job>."
            )


def _folders(path: Path) -> list[Path]:
    return sorted(child for child in path.iterdir() if child.is_dir())


def _is_trial(path: Path) -> bool:
    return "__" in path.name and any((path / name).is_file() for name in ("result.json", "config.json", "lock.json"))


def _is_job(path: Path) -> bool:
    return path.is_dir() and (any(_is_trial(child) for child in _folders(path)))


def _jobs(path: Path) -> Iterator[Path]:
    if _is_trial(path):
        yield path.parent
    elif _is_job(path):
        yield path
    else:
        yield from (child for child in _folders(path) if _is_job(child))


def _never_started(job: Path, trials: int) -> Iterator[Refused]:
    if not (job / "result.json").is_file():
        return
    planned = whole(mapping(load_json(job / "result.json")).get("n_total_trials"))
    if planned is not None and planned > trials:
        yield Refused(
            job.name, f"{planned - trials} of {planned} planned trials left no folder: nothing is known of them"
        )


def _read_trial(folder: Path, job: Path, options: Options) -> Trial | Refused:
    source = f"{job.name}/{folder.name}"
    if not (folder / "result.json").is_file():
        return _lost(folder, job, source)
    try:
        result = mapping(load_json(folder / "result.json"))
    except UnreadableImportError as error:
        return Refused(source, str(error))
    task = result.get("task_name")
    if not isinstance(task, str) or not task:
        return Refused(source, "result.json has no task_name: it is no Harbor trial")
    rewards = _rewards(result)
    if isinstance(rewards, str):
        return Refused(source, rewards)
    exception = mapping(result.get("exception_info"))
    status = _status(rewards, exception, options)
    agent = mapping(result.get("agent_info"))
    return Trial(
        source=source,
        suite=str(result.get("source") or "harbor"),
        agent=_agent_name(agent),
        task=task,
        status=status,
        score=_score(rewards),
        sweep=job.name,
        started_at=moment(result.get("started_at")),
        finished_at=moment(result.get("finished_at")),
        known=_known(folder, result, rewards, exception, status),
    )


def _lost(folder: Path, job: Path, source: str) -> Trial:
    """A trial that was started and left no result: a row that says so."""
    told = next(folder / name for name in ("config.json", "lock.json") if (folder / name).is_file())
    config = mapping(load_json(told))
    task = mapping(config.get("task"))
    name = str(task.get("name") or Path(str(task.get("path") or folder.name.split("__")[0])).name)
    known: dict[str, object] = {
        "failure_kind": "no result",
        "failure_message": "the harness left no result of this trial",
    }
    return Trial(source, "harbor", str(mapping(config.get("agent")).get("name") or "unknown"), name, Status.LOST,
                 sweep=job.name, known=known)  # fmt: skip


def _rewards(result: Mapping[str, object]) -> dict[str, float] | str | None:
    verifier = result.get("verifier_result")
    rewards = mapping(mapping(verifier).get("rewards"))
    if not rewards:
        return None
    numbers = {key: finite(value) for key, value in rewards.items()}
    wrong = [key for key, value in numbers.items() if value is None]
    if wrong:
        return f"reward {wrong[0]} is {rewards[wrong[0]]!r}, which is no finite number"
    return {key: value for key, value in numbers.items() if value is not None}


def _score(rewards: Mapping[str, float] | None) -> float | None:
    if not rewards:
        return None
    return rewards.get("reward", sum(rewards.values()) / len(rewards))


def _status(rewards: Mapping[str, float] | None, exception: Mapping[str, object], options: Options) -> Status:
    kind = str(exception.get("exception_type") or "")
    if rewards is None:
        if kind == "AgentTimeoutError":
            return Status.GRADER_ERROR
        return _EXCEPTIONS.get(kind, Status.SANDBOX_ERROR)
    decisive = rewards["reward"] if "reward" in rewards else min(rewards.values())
    if decisive >= options.pass_at - 1e-6:
        return Status.PASSED
    ending = _EXCEPTIONS.get(kind)
    return ending if ending in (Status.AGENT_TIMEOUT, Status.AGENT_ERROR) else Status.FAILED


def _agent_name(agent: Mapping[str, object]) -> str:
    model = mapping(agent.get("model_info")).get("name")
    name = str(agent.get("name") or "unknown")
    return f"{name}+{model}" if model else name


def _known(
    folder: Path,
    result: Mapping[str, object],
    rewards: Mapping[str, float] | None,
    exception: Mapping[str, object],
    status: Status,
) -> dict[str, object]:
    used = mapping(result.get("agent_result"))
    agent = mapping(result.get("agent_info"))
    environment = mapping(mapping(result.get("config")).get("environment"))
    memory = whole(environment.get("override_memory_mb"))
    cached, total = whole(used.get("n_cache_tokens")), whole(used.get("n_input_tokens"))
    known: dict[str, object] = {
        "agent_version": agent.get("version"),
        "model": mapping(agent.get("model_info")).get("name"),
        "task_digest": _task_digest(folder),
        "rewards": dict(rewards) if rewards else None,
        "grading_mode": result.get("verifier_environment_mode"),
        "timeout_multiplier": finite(mapping(result.get("config")).get("timeout_multiplier")),
        "requested_cpus": finite(environment.get("override_cpus")),
        "requested_memory_bytes": memory * 1024 * 1024 if memory is not None else None,
        "tokens_in": total - (cached or 0) if total is not None else None,
        "tokens_cache_read": cached,
        "tokens_out": whole(used.get("n_output_tokens")),
        "cost_usd": finite(used.get("cost_usd")),
        **{column: _seconds(mapping(result.get(phase))) for column, phase in _PHASES.items()},
    }
    if exception:
        known["failure_kind"] = exception.get("exception_type")
        known["failure_message"] = str(exception.get("exception_message") or "")[:300]
        if status in (Status.PASSED, Status.FAILED):
            known["flags"] = [f"graded_after:{exception.get('exception_type')}"]
    return known


def _seconds(phase: Mapping[str, object]) -> float | None:
    start, end = moment(phase.get("started_at")), moment(phase.get("finished_at"))
    return (end - start).total_seconds() if start and end else None


def _task_digest(folder: Path) -> str | None:
    if not (folder / "lock.json").is_file():
        return None
    digest = mapping(mapping(load_json(folder / "lock.json")).get("task")).get("digest")
    return str(digest).removeprefix("sha256:") if digest else None
