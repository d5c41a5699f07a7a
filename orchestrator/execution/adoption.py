"""What workers that outlived their controller hold, matched with the plan and with the rows that are there.

Pure. Of an attempt that a worker has under way or has finished, either its row is there already, or nobody has
recorded it: then it is taken over, whatever the journal says, which may have lost its last half second.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.core.dispatch import Job
from orchestrator.core.plan import Arm, TrialSpec, attempt_id, trials
from orchestrator.execution.assignment import Outcome
from orchestrator.execution.cluster import Adopted
from orchestrator.execution.freeze import Assigner, Frozen, shape_of
from orchestrator.storage.sweeps import TrialState

Begun = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Running:
    worker: int
    job: Job
    started: datetime


@dataclass(slots=True)
class Claims:
    """running, finished: to be taken over. useless: workers at something that no row is wanted of.
    recorded: attempts whose outcomes need not be kept."""

    running: list[Running] = field(default_factory=list)
    finished: list[tuple[Job, Outcome]] = field(default_factory=list)
    useless: list[int] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)

    @property
    def trial_keys(self) -> frozenset[str]:
        jobs = [one.job for one in self.running] + [job for job, _ in self.finished]
        return frozenset(job.trial.key for job in jobs)

    @property
    def attempts_running(self) -> frozenset[str]:
        return frozenset(attempt_id(one.job.trial.key, one.job.attempt) for one in self.running)

    def __bool__(self) -> bool:
        return bool(self.running or self.finished)


def held_attempts(adopted: Iterable[Adopted]) -> dict[str, Begun]:
    """By attempt id: what the journal would say of each attempt that some worker holds."""
    held = {}
    for one in adopted:
        begun = [begun for begun, _ in one.finished] + ([one.begun] if one.begun is not None else [])
        held.update({str(fields["attempt_id"]): fields for fields in begun})
    return held


def job_of(begun: Begun, frozen: Frozen, assigner: Assigner) -> Job | None:
    """The job of a begun attempt; None when the plan does not know its arm or its task any more."""
    fields = begun["job"]
    assert isinstance(fields, dict)
    arm = Arm(fields["agent"], fields["resources"], fields["lane"])
    if arm.name not in {known.name for known in frozen.plan.arms} or fields["task"] not in frozen.tasks:
        return None
    trial = TrialSpec(fields["trial_key"], fields["task"], arm, fields["wave"], fields["repeat"], -1)
    trial = next((t for t in trials(frozen.plan, trial.wave) if t.key == trial.key), trial)
    return Job(trial, shape_of(assigner.promise(trial)), fields["attempt"], int(fields.get("failures", 0)))


def claim(adopted: Sequence[Adopted], frozen: Frozen, assigner: Assigner, states: Mapping[str, TrialState]) -> Claims:
    """Decide on everything that is held. `states`: what rows say of each trial."""
    claims = Claims()
    taken: set[str] = set()

    def wanted(begun: Begun) -> Job | None:
        job = job_of(begun, frozen, assigner)
        if job is None or job.trial.key in taken:
            return None
        state = states.get(job.trial.key)
        return None if state is not None and (state.settled or state.next_attempt > job.attempt) else job

    for one in adopted:
        for begun, outcome in one.finished:
            job = wanted(begun)
            if job is None:
                claims.recorded.append(str(begun["attempt_id"]))
                continue
            taken.add(job.trial.key)
            claims.finished.append((job, outcome))
    for one in adopted:
        if one.begun is None:
            continue
        job = wanted(one.begun)
        if job is None:
            claims.useless.append(one.worker)
            continue
        taken.add(job.trial.key)
        claims.running.append(Running(one.worker, job, datetime.fromisoformat(str(one.begun["started_at"]))))
    return claims
