"""One `passhat run`: freeze, lock, recover, subtract, drive, seal. Joins the parts; decides nothing itself."""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.core.dispatch import Job
from orchestrator.core.ending import Ending
from orchestrator.core.plan import Arm, TrialSpec, trials
from orchestrator.core.retry import CONTROLLER_LOST, RetryPolicy
from orchestrator.core.status import Status
from orchestrator.execution.cluster import Capacity, Cluster
from orchestrator.execution.driver import Book, Driver, Spending
from orchestrator.execution.freeze import Assigner, Frozen, facts, shape_of
from orchestrator.execution.progress import ArmProgress, Progress
from orchestrator.execution.rows import lost_row, requested
from orchestrator.models.usage import ModelUsage
from orchestrator.models.usage_log import forget_usage, read_usage
from orchestrator.storage.dimensions import write_entry
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from orchestrator.storage.sweeps import (
    TrialState,
    full_disk_explained,
    sweep_lock,
    trial_states,
    usage_folder,
    used_up,
    write_plan,
)
from sandboxes.snapshot import content_id

Notify = Callable[[str, Mapping[str, object]], None]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended. `stopped_by` None: all due trials are settled."""

    progress: Progress
    stopped_by: str | None
    reaped: int


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line adds to a sweep: which waves, how many at once, and whether Ray may grow.

    `usage` closes an attempt at the model gateway and says what it used; None when it never spoke.
    """

    waves: Sequence[int] = (0,)
    late_waves: frozenset[int] = frozenset()
    concurrency: int | None = None
    surplus: int = 0
    environment_changed: bool = False
    usage: Callable[[str], ModelUsage | None] = lambda _: None


def new_writer() -> str:
    """A name no other process uses, ever."""
    return f"{os.getpid():x}{secrets.token_hex(6)}"


def run_sweep(
    frozen: Frozen,
    root: Root,
    open_cluster: Callable[[], Cluster],
    options: RunOptions,
    notify: Notify,
    on_driver: Callable[[Driver], None] = lambda _: None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Ended:
    """Carry out what is due and not settled yet. Raises SweepBusyError, ResultsError, OSError."""
    sweep_id = frozen.plan.sweep_id
    with full_disk_explained(root), sweep_lock(root, sweep_id), RowStore(root, sweep_id, new_writer()) as store:
        write_plan(root, frozen.plan)
        _write_dimensions(root, frozen)
        assigner = Assigner(frozen, now, options.late_waves, options.environment_changed)
        progress = Progress(sweep_id, root.location)
        _recover(frozen, root, store, assigner, notify, now)
        states = trial_states(root, sweep_id)
        jobs = assigner.jobs(states, options.waves)
        _count(frozen, progress, states, options.waves)
        if not jobs:
            notify("progress", {})
            return Ended(progress, None, 0)
        cluster = open_cluster()
        try:
            return _drive(frozen, cluster, Book(root, store, progress, notify), assigner, jobs, options, on_driver, now)
        finally:
            cluster.close()
            store.seal()


def _drive(
    frozen: Frozen,
    cluster: Cluster,
    book: Book,
    assigner: Assigner,
    jobs: list[Job],
    options: RunOptions,
    on_driver: Callable[[Driver], None],
    now: Callable[[], datetime],
) -> Ended:
    config = frozen.config
    reaped = cluster.reap()
    capacity = cluster.capacity()
    fitting = _refuse_unfit(frozen, book, assigner, jobs, capacity, now)
    driver = Driver(
        cluster,
        book,
        facts(frozen),
        RetryPolicy(config.retry.max, frozenset(config.retry.causes), config.retry.backoff_s),
        assigner,
        spending=_left(frozen, book.root),
        concurrency=options.concurrency or config.concurrency,
        surplus=options.surplus,
        broken_after=config.stop_broken_tasks,
        usage=options.usage,
        now=now,
    )
    on_driver(driver)
    driver.run(fitting)
    cluster.close()
    reaped += cluster.reap()
    return Ended(book.progress, driver.stopped_by, reaped)


def _left(frozen: Frozen, root: Root) -> Spending:
    """What is left of the budget after earlier calls; hours are those of one call."""
    budget = frozen.config.budget
    attempts, usd = used_up(root, frozen.plan.sweep_id)
    return Spending(
        usd=None if budget.usd is None else max(0.0, budget.usd - usd),
        trials=None if budget.trials is None else max(0, budget.trials - attempts),
        seconds=None if budget.hours is None else budget.hours * 3600,
    )


def _refuse_unfit(
    frozen: Frozen,
    book: Book,
    assigner: Assigner,
    jobs: list[Job],
    capacity: Capacity,
    now: Callable[[], datetime],
) -> list[Job]:
    """Trials that no node can take become rows at once; the others go on."""
    fitting, told = [], set()
    for job in jobs:
        why = misfit(job, capacity)
        if why is None:
            fitting.append(job)
            continue
        if job.shape not in told:
            told.add(job.shape)
            book.notify("refused", {"task": job.trial.task, "message": f"task {job.trial.task}: {why}"})
        moment = now()
        assignment = assigner(job)
        constants = {**facts(frozen).columns, **assignment.columns, **requested(assignment.resources)}
        ending = Ending(Status.SANDBOX_ERROR, "queue", "does_not_fit", why)
        row = lost_row(job, constants, ending, moment, moment) | {"final": True}
        book.store.add(row)
        book.progress.begun(job.trial.arm.name)
        book.progress.ended(row, settled=True)
    book.store.commit()
    return fitting


def misfit(job: Job, capacity: Capacity) -> str | None:
    """Why no node can take a trial of this shape, or None."""
    shape = job.shape
    wants = (
        (shape.cpus, capacity.largest_cpus, "cores"),
        (shape.memory_mb, capacity.largest_memory_mb, "MiB of memory"),
        (shape.gpus, capacity.largest_gpus, "GPUs"),
    )
    for asked, there, unit in wants:
        if asked > there + 1e-9:
            return (
                f"{asked:g} {unit} were promised and the largest node has {there:.0f};"
                " lower the task's or the setting's promise, or add a larger node"
            )
    return None


def _recover(
    frozen: Frozen, root: Root, store: RowStore, assigner: Assigner, notify: Notify, now: Callable[[], datetime]
) -> None:
    """Publish what dead controllers left; attempts they had begun become LOST rows, to be taken up again.

    What these had spent at the model until then stands in the usage log, and goes into their rows.
    """
    found = store.recover()
    log = usage_folder(root, frozen.plan.sweep_id)
    used = read_usage(log)
    for damage in found.damage:
        notify("damage", {"message": str(damage)})
    known = {arm.name for arm in frozen.plan.arms}
    for begun in found.begun:
        fields = begun["job"]
        assert isinstance(fields, dict)
        arm = Arm(fields["agent"], fields["resources"], fields["lane"])
        if arm.name not in known or fields["task"] not in frozen.tasks:
            continue
        trial = TrialSpec(fields["trial_key"], fields["task"], arm, fields["wave"], fields["repeat"], -1)
        trial = next((t for t in trials(frozen.plan, trial.wave) if t.key == trial.key), trial)
        job = Job(trial, shape_of(assigner.promise(trial)), fields["attempt"])
        assignment = assigner(job)
        constants = {**facts(frozen).columns, **assignment.columns, **requested(assignment.resources)}
        started = datetime.fromisoformat(str(begun["started_at"]))
        ending = Ending(Status.LOST, None, CONTROLLER_LOST, "the controller died while this attempt ran")
        row = lost_row(job, constants, ending, started, max(started, now()), used.get(assignment.attempt_id))
        store.add(row | {"final": False})
    store.commit()
    forget_usage(log)
    if found.rows or found.begun:
        notify("recovered", {"rows": len(found.rows), "lost": len(found.begun)})


def _count(frozen: Frozen, progress: Progress, states: Mapping[str, TrialState], waves: Sequence[int]) -> None:
    for arm in frozen.plan.arms:
        progress.arms[arm.name] = ArmProgress()
    for wave in waves:
        for trial in trials(frozen.plan, wave):
            counts = progress.arms[trial.arm.name]
            counts.planned += 1
            state = states.get(trial.key)
            if state is not None and state.settled:
                counts.done += 1
                counts.passed += state.passed
                counts.no_verdict += not state.has_verdict
    progress.done_before = progress.done


def _write_dimensions(root: Root, frozen: Frozen) -> None:
    for name, task in frozen.tasks.items():
        fields: dict[str, object] = {"name": name, "suite": frozen.suite.name, "cluster": task.cluster}
        fields |= {"difficulty": task.difficulty, "instruction": task.steps[0].instruction, "metadata": task.metadata}
        write_entry(root, "tasks", task.digest[:24], fields)
    for agent in frozen.agents.values():
        write_entry(root, "agents", frozen.plan.agent_digests[agent.name][:24], agent.model_dump(mode="json"))
    for setting in frozen.resources.values():
        fields = setting.model_dump(mode="json")
        write_entry(root, "resources", f"{setting.name}-{content_id(fields)[:8]}", fields)


def log_path(root: Root, sweep_id: str) -> Path:
    """Where the structured log of a sweep stands on this machine."""
    return root.local_folder(f"sweeps/{sweep_id}") / "log.jsonl"
