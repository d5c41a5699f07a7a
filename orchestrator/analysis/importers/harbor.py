"""Harbor jobs: one result.json per trial. The job's own aggregate is never taken for a score."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    load_json,
    mapping,
    moment,
    whole,
)
from orchestrator.analysis.importers.harbor_result import agent_of, columns_of, rewards_of, score_of, status_of
from orchestrator.core.status import Status

VERSION = 1
_SILENT_S = 10.0
_ZONE_STEP_S = 900


class Harbor:
    """A job folder, a folder of jobs, or one trial folder."""

    name = "harbor"

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and any(_is_trial(child) or _is_job(child) for child in [path, *_folders(path)])

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Trials by job, in order of their start, which numbers the repeats of a task."""
        found = False
        seen: dict[str, str] = {}
        for job, folders in _jobs(path):
            found = True
            trials: list[Trial] = []
            for folder in folders:
                trial = _read_trial(folder, job, options, seen)
                if isinstance(trial, Refused):
                    yield trial
                else:
                    trials.append(trial)
            trials.sort(key=lambda trial: (str(trial.started_at), trial.source))
            if path.name == folders[0].name:
                yield from trials
                continue
            told = _job_result(job)
            if isinstance(told, Refused):
                yield told
                told = {}
            lost = _lost_attempts(job, told, trials)
            yield from (
                replace(trial, remark=trial.remark or lost) if trial is trials[0] else trial for trial in trials
            )
            yield from _never_started(job, told, len(folders))
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


def _jobs(path: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Each job with its trial folders; for a trial folder, its job with that one."""
    if _is_trial(path):
        yield path.parent, [path]
        return
    for job in [path] if _is_job(path) else _folders(path):
        trials = [folder for folder in _folders(job) if _is_trial(folder)]
        if trials:
            yield job, trials


def _job_result(job: Path) -> Mapping[str, object] | Refused:
    try:
        return mapping(load_json(job / "result.json")) if (job / "result.json").is_file() else {}
    except UnreadableImportError as error:
        return Refused(job.name, str(error))


def _never_started(job: Path, told: Mapping[str, object], trials: int) -> Iterator[Refused]:
    planned = whole(told.get("n_total_trials"))
    if planned is not None and planned > trials:
        yield Refused(
            job.name, f"{planned - trials} of {planned} planned trials left no folder: nothing is known of them"
        )


def _lost_attempts(job: Path, told: Mapping[str, object], trials: list[Trial]) -> str | None:
    """Signs of attempts that the harness deleted: retries it counted, or time before the first trial that is left.

    The job's times have no zone, those of its trials have; the difference of their ends tells the zone.
    """
    retries = whole(mapping(told.get("stats")).get("n_retries"))
    if retries:
        return f"the job {job.name} counts {retries} retries, and of the attempts before them nothing is left"
    began, ended = moment(told.get("started_at")), moment(told.get("finished_at"))
    starts = [trial.started_at for trial in trials if trial.started_at]
    ends = [trial.finished_at for trial in trials if trial.finished_at]
    if not (began and ended and starts and ends):
        return None
    zone_s = round((ended - max(ends)).total_seconds() / _ZONE_STEP_S) * _ZONE_STEP_S
    silent_s = (min(starts) - began).total_seconds() + zone_s
    if silent_s <= _SILENT_S:
        return None
    return (
        f"the job {job.name} began {silent_s:.0f} s before its first trial that is left: it may have been killed and "
        "resumed, and attempts of that time left no trace"
    )


def _read_trial(folder: Path, job: Path, options: Options, seen: dict[str, str]) -> Trial | Refused:
    """`seen` holds the ids of results and where they were found: a folder copied is no second trial."""
    source = f"{job.name}/{folder.name}"
    try:
        if not (folder / "result.json").is_file():
            return _lost(folder, job, source)
        result = mapping(load_json(folder / "result.json"))
        version, name = result.get("schema_version", VERSION), str(result.get("id") or source)
        if version != VERSION:
            return Refused(source, f"the result is of version {version!r}, but only {VERSION} is known")
        if seen.setdefault(name, source) != source:
            return Refused(source, f"the result {name} is there already, in {seen[name]}")
        return _trial(result, folder, job, options)
    except UnreadableImportError as error:
        return Refused(source, str(error))


def _trial(result: Mapping[str, object], folder: Path, job: Path, options: Options) -> Trial | Refused:
    source = f"{job.name}/{folder.name}"
    task = result.get("task_name")
    if not isinstance(task, str) or not task:
        return Refused(source, "result.json has no task_name: it is no Harbor trial")
    rewards, remark = rewards_of(result)
    exception = mapping(result.get("exception_info"))
    status = status_of(rewards, exception, options)
    agent = mapping(result.get("agent_info"))
    return Trial(
        source=source,
        suite=str(result.get("source") or "harbor"),
        agent=agent_of(agent),
        task=task,
        status=status,
        score=score_of(rewards),
        sweep=job.name,
        started_at=moment(result.get("started_at")),
        finished_at=moment(result.get("finished_at")),
        known={"task_digest": _task_digest(folder), **columns_of(result, rewards, exception, status)},
        remark=remark,
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
    return Trial(source, str(task.get("source") or "harbor"), str(mapping(config.get("agent")).get("name") or "unknown"),
                 name, Status.LOST, sweep=job.name, known=known)  # fmt: skip


def _task_digest(folder: Path) -> str | None:
    if not (folder / "lock.json").is_file():
        return None
    digest = mapping(mapping(load_json(folder / "lock.json")).get("task")).get("digest")
    return str(digest).removeprefix("sha256:") if digest else None
