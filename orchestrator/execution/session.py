"""One `passhat run`: freeze, lock, recover, subtract, drive, seal. Joins the parts; decides nothing itself."""

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.core.dispatch import Job
from orchestrator.core.ending import Ending
from orchestrator.core.plan import trials
from orchestrator.core.retry import CONTROLLER_LOST, RetryPolicy
from orchestrator.core.status import Status
from orchestrator.execution.adoption import Claims, claim, held_attempts, job_of
from orchestrator.execution.cluster import Capacity, Cluster
from orchestrator.execution.driver import Book, Driver
from orchestrator.execution.freeze import Assigner, Frozen, facts
from orchestrator.execution.progress import ArmProgress, Progress
from orchestrator.execution.rows import lost_row, requested
from orchestrator.execution.spending import Spending
from orchestrator.models.usage import ModelUsage
from orchestrator.models.usage_log import forget_usage, read_usage
from orchestrator.storage.dimensions import write_entry
from orchestrator.storage.remote_journal import ReplacedError
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

LATE_S = 3.0

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
    `await_nodes_s`: how long trials that fit no node wait for one that may come; None: they are refused at once.
    `adopt`: workers of an earlier controller may still be there, with attempts under way.
    """

    waves: Sequence[int] = (0,)
    late_waves: frozenset[int] = frozenset()
    concurrency: int | None = None
    surplus: int = 0
    await_nodes_s: float | None = None
    environment_changed: bool = False
    usage: Callable[[str], ModelUsage | None] = lambda _: None
    adopt: bool = False


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
        book = Book(root, store, Progress(sweep_id, root.location), notify)
        cluster = open_cluster() if options.adopt else None
        try:
            adopted = cluster.adopt() if cluster is not None else []
            held = held_attempts(adopted)
            announced = _recover(frozen, root, store, assigner, held, notify, now)
            states = trial_states(root, sweep_id)
            claims = claim(adopted, frozen, assigner, states)
            for attempt in claims.attempts_running - announced:
                store.begin(held[attempt])
            keys = claims.trial_keys
            jobs = [job for job in assigner.jobs(states, options.waves) if job.trial.key not in keys]
            _count(frozen, book.progress, states, options.waves)
            if not jobs and not claims:
                notify("progress", {})
                return Ended(book.progress, None, 0)
            cluster = cluster or open_cluster()
            return _drive(frozen, cluster, book, assigner, jobs, claims, options, on_driver, now)
        except (OSError, ReplacedError):
            # What runs may be worth hours: a controller that cannot write leaves it to the one that can, and
            # the journal, too, which the next one makes into Parquet.
            if cluster is not None:
                cluster.leave()
                cluster = None
            raise
        finally:
            if cluster is not None:
                cluster.close()
                store.seal()


def _drive(
    frozen: Frozen,
    cluster: Cluster,
    book: Book,
    assigner: Assigner,
    jobs: list[Job],
    claims: Claims,
    options: RunOptions,
    on_driver: Callable[[Driver], None],
    now: Callable[[], datetime],
) -> Ended:
    config = frozen.config
    reaped = cluster.reap()
    grows = options.await_nodes_s is not None
    fitting = jobs if grows else _refuse_unfit(frozen, book, assigner, jobs, cluster.capacity(), now)
    driver = Driver(
        cluster,
        book,
        facts(frozen),
        RetryPolicy(config.retry.max, frozenset(config.retry.causes), config.retry.backoff_s),
        assigner,
        spending=_left(frozen, book.root),
        concurrency=options.concurrency or config.concurrency,
        surplus=options.surplus,
        await_nodes_s=options.await_nodes_s,
        broken_after=config.stop_broken_tasks,
        usage=options.usage,
        now=now,
    )
    on_driver(driver)
    _take_over(driver, cluster, claims, notify=book.notify)
    driver.run(fitting)
    cluster.close()
    reaped += cluster.reap()
    if driver.cancelled:
        reaped += _reap_late(cluster)
    return Ended(book.progress, driver.stopped_by, reaped)


def _reap_late(cluster: Cluster) -> int:
    """What an engine was still making for a worker when that was killed shows afterwards: look until nothing comes."""
    found, looked_s = 0, time.monotonic()
    while time.monotonic() - looked_s < LATE_S:
        time.sleep(LATE_S / 6)
        late = cluster.reap()
        if late:
            found, looked_s = found + late, time.monotonic()
    return found


def _take_over(driver: Driver, cluster: Cluster, claims: Claims, notify: Notify) -> None:
    for worker in claims.useless:
        cluster.retire(worker)
    cluster.durable(claims.recorded)
    for running in claims.running:
        driver.adopt(running.worker, running.job, running.started)
    for job, outcome in claims.finished:
        driver.take(job, outcome)
    if claims:
        counts = {"running": len(claims.running), "finished": len(claims.finished)}
        words = "took over {running} attempts under way and {finished} that had ended".format(**counts)
        notify("taken_over", {"message": words, **counts})


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
    """On machines that do not change, trials that no node can take become rows at once; the others go on."""
    fitting, told = [], set()
    for job in jobs:
        why = capacity.misfit(job.shape)
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


def _recover(
    frozen: Frozen,
    root: Root,
    store: RowStore,
    assigner: Assigner,
    held: Mapping[str, Mapping[str, object]],
    notify: Notify,
    now: Callable[[], datetime],
) -> frozenset[str]:
    """Publish what dead controllers left. Attempts they had begun become LOST rows, to be taken up again, but
    for those that a worker holds. Returns the attempts that the journal knows as begun.

    What the lost ones had spent at the model until then stands in the usage log, and goes into their rows.
    """
    found = store.recover()
    log = usage_folder(root, frozen.plan.sweep_id)
    used = read_usage(log)
    for damage in found.damage:
        notify("damage", {"message": str(damage)})
    lost = 0
    for begun in found.begun:
        job = job_of(begun, frozen, assigner) if str(begun["attempt_id"]) not in held else None
        if job is None:
            continue
        assignment = assigner(job)
        constants = {**facts(frozen).columns, **assignment.columns, **requested(assignment.resources)}
        started = datetime.fromisoformat(str(begun["started_at"]))
        ending = Ending(Status.LOST, None, CONTROLLER_LOST, "the controller died while this attempt ran")
        row = lost_row(job, constants, ending, started, max(started, now()), used.get(assignment.attempt_id))
        store.add(row | {"final": False})
        lost += 1
    store.commit()
    if not held:
        forget_usage(log)
    if found.rows or lost:
        notify("recovered", {"rows": len(found.rows), "lost": lost})
    return frozenset(str(begun["attempt_id"]) for begun in found.begun)


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
