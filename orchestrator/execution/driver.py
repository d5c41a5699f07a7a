"""Carries out a frozen plan: dispatches attempts, makes rows durable, retries, stops when told.

Guarantees. A trial counts as done only when its row is on the disk. An attempt is announced in the journal
before a worker gets it, so that one whose driver died becomes a LOST row when the sweep is run again. A row
is written once for every attempt, whatever its ending. `stop` lets running attempts end; `abort` cancels
them, and they are rows too. Nothing grows with the number of finished trials.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator.core.dispatch import Action, Dispatcher, Job, Retire, Spawn, Start
from orchestrator.core.ending import Ending
from orchestrator.core.retry import BROKEN_TASK, RetryPolicy, is_taken_up_again, uses_up
from orchestrator.core.status import Status
from orchestrator.execution.assignment import Assignment, Outcome, SweepFacts, begun_fields
from orchestrator.execution.awaiting import AwaitedNodes
from orchestrator.execution.cluster import AttemptEnded, Cluster, Event, WorkerDied, WorkerReady
from orchestrator.execution.progress import Progress
from orchestrator.execution.rows import lost_row, requested
from orchestrator.execution.spending import Spending
from orchestrator.models.usage import ModelUsage
from orchestrator.storage.dimensions import write_entry
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from orchestrator.storage.transcripts import write_blob

POLL_S = 0.2
TICK_S = 0.2
MAX_SPAWN_FAILURES = 5


@dataclass(frozen=True, slots=True)
class Book:
    """Where rows and evidence go, and who is told."""

    root: Root
    store: RowStore
    progress: Progress
    notify: Callable[[str, Mapping[str, object]], None] = lambda *_: None


class Driver:
    """Runs jobs on a cluster until none is left. Not safe for several threads, but for stop and abort."""

    def __init__(
        self,
        cluster: Cluster,
        book: Book,
        facts: SweepFacts,
        policy: RetryPolicy,
        assign: Callable[[Job], Assignment],
        spending: Spending | None = None,
        concurrency: int | None = None,
        surplus: int = 0,
        await_nodes_s: float | None = None,
        broken_after: int | None = None,
        usage: Callable[[str], ModelUsage | None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._cluster, self._book, self._facts, self._policy = cluster, book, facts, policy
        self._assign, self._usage, self._monotonic, self._now = assign, usage, monotonic, now
        self._spending = spending or Spending()
        self._spent_usd = 0.0
        self._awaited = AwaitedNodes(await_nodes_s)
        capacity = cluster.capacity()
        self._dispatcher = Dispatcher(
            capacity.cpus,
            capacity.memory_mb,
            capacity.gpus,
            concurrency=concurrency,
            surplus=surplus,
            starts_left=0 if self._spending.usd == 0 else self._spending.trials,
        )
        self._running: dict[int, tuple[Job, datetime]] = {}
        self._aborting = False
        self._spawn_failures = 0
        self._uncommitted: list[tuple[Mapping[str, object], bool]] = []
        self._committed_s = 0.0
        self._broken_after = broken_after
        self._oracle_failures: Counter[str] = Counter()
        self._solvable: set[str] = set()
        self.stopped_by: str | None = None
        self.cancelled = 0

    @property
    def progress(self) -> Progress:
        return self._book.progress

    def run(self, jobs: Iterable[Job]) -> None:
        """Until every job is settled, or stop or abort was called. Raises OSError when a row cannot be stored."""
        self._dispatcher.add(jobs)
        begun_s = last_tick = self._book.progress.started_s = self._monotonic()
        self._act(self._dispatcher.tick(begun_s))
        while not self._dispatcher.done and not self._aborting:
            events = self._cluster.poll(POLL_S)
            for event in events:
                self._hear(event)
            now_s = self._monotonic()
            if not events or now_s - self._committed_s >= self._book.store.commit_every_s:
                self._settle()
                self._committed_s = now_s
            if now_s - last_tick >= TICK_S or not events:
                last_tick = now_s
                self._check_spending(now_s - begun_s)
                self._refresh_capacity(now_s)
                self._act(self._dispatcher.tick(now_s))
                if not events and not self._running and self._dispatcher.pending:
                    time.sleep(0.01)
            self._report(now_s)
        if self._aborting:
            self._cancel_running()
        self._settle()
        self._check_spending(0.0)
        self._report(self._monotonic())

    def adopt(self, worker: int, job: Job, started: datetime) -> None:
        """Take over an attempt that a worker has under way since an earlier controller. Before `run`."""
        self._dispatcher.adopt(worker, job)
        self._running[worker] = (job, started)
        self._book.progress.begun(job.trial.arm.name)

    def take(self, job: Job, outcome: Outcome) -> None:
        """Record what a worker finished for an earlier controller. Before `run`."""
        self._book.progress.begun(job.trial.arm.name)
        self._record(job, outcome)

    def stop(self, reason: str) -> None:
        """Start nothing more; running attempts end by themselves."""
        self.stopped_by = self.stopped_by or reason
        self._dispatcher.stop()

    def abort(self, reason: str) -> None:
        """End at once: what runs is cancelled."""
        self.stopped_by = reason
        self._aborting = True

    def _act(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Spawn(worker, shape):
                    self._cluster.spawn(worker, shape)
                case Retire(worker):
                    self._cluster.retire(worker)
                case Start(worker, job):
                    self._start(worker, job)

    def _start(self, worker: int, job: Job) -> None:
        assignment = self._assign(job)
        now = self._now()
        self._book.store.begin(begun_fields(assignment, now.isoformat()))
        self._running[worker] = (job, now)
        self._book.progress.begun(job.trial.arm.name)
        self._cluster.start(worker, assignment)

    def _hear(self, event: Event) -> None:
        match event:
            case WorkerReady(worker, leaving):
                self._spawn_failures = 0
                self._act(self._dispatcher.dismiss(worker) if leaving else self._dispatcher.ready(worker))
            case AttemptEnded(worker, outcome, leaving):
                job, _ = self._running.pop(worker)
                self._record(job, outcome)
                self._act(self._dispatcher.dismiss(worker) if leaving else self._dispatcher.ended(worker))
            case WorkerDied(worker, message):
                self._lost(worker, message)

    def _lost(self, worker: int, message: str) -> None:
        self._dispatcher.died(worker)
        entry = self._running.pop(worker, None)
        if entry is not None:
            job, started = entry
            ending = Ending(Status.LOST, None, "worker_died", message)
            self._record(job, Outcome(self._row_without_sandbox(job, ending, started)))
            return
        self._spawn_failures += 1
        self._book.notify("worker_failed", {"message": message})
        if self._spawn_failures >= MAX_SPAWN_FAILURES:
            self.stop(f"{self._spawn_failures} workers in a row could not be started: {message}")

    def _row_without_sandbox(self, job: Job, ending: Ending, started: datetime) -> dict[str, object]:
        assignment = self._assign(job)
        constants = {**self._facts.columns, **assignment.columns, **requested(assignment.resources)}
        used = self._usage(assignment.attempt_id)
        return lost_row(job, constants, ending, started, self._now(), used)

    def _record(self, job: Job, outcome: Outcome) -> None:
        """Evidence first, then the row; the row counts after the commit in `_settle`."""
        for text in outcome.notices:
            self._book.notify("engine", {"message": text})
        row = dict(outcome.row)
        status, kind = Status(str(row["status"])), row.get("failure_kind")
        assert kind is None or isinstance(kind, str)
        failures = job.failures + uses_up(status, kind)
        wait_s = None
        if not status.has_verdict and not is_taken_up_again(status, kind) and kind != "does_not_fit":
            wait_s = self._policy.wait_s(status, failures)
        settled = wait_s is None and not is_taken_up_again(status, kind)
        row["final"] = settled
        self._keep_evidence(row, outcome)
        self._book.store.add(row)
        self._uncommitted.append((row, settled))
        cost = row.get("cost_usd")
        self._spent_usd += cost if isinstance(cost, int | float) else 0.0
        if self._spending.usd is not None and self._spent_usd >= self._spending.usd:
            self._dispatcher.starts_left = 0
        if "auth" in (row.get("flags") or ()):  # type: ignore[operator]
            self.stop("the model refused the key (401); no further attempt was started")
        self._watch_oracle(row, status)
        if wait_s is not None:
            again = Job(job.trial, job.shape, job.attempt + 1, failures)
            self._dispatcher.add_later(again, self._monotonic() + wait_s)

    def _watch_oracle(self, row: Mapping[str, object], status: Status) -> None:
        """Stop a task that its own solution never passes: what is left of it becomes rows at once.

        Which trials are left out depends on the oracle alone and not on any arm's own results, so the rates
        of the arms stay unbiased.
        """
        task = str(row["task"])
        if self._broken_after is None or row.get("agent_kind") != "oracle" or not status.has_verdict:
            return
        if status is Status.PASSED:
            self._solvable.add(task)
        elif task not in self._solvable:
            self._oracle_failures[task] += 1
            if self._oracle_failures[task] == self._broken_after:
                why = f"the oracle failed {self._broken_after} of {self._broken_after}: the task is taken for broken"
                self._book.notify("broken_task", {"task": task, "message": f"task {task}: {why}"})
                for job in self._dispatcher.drop_task(task):
                    ending = Ending(Status.CANCELLED, "queue", BROKEN_TASK, why)
                    self._book.progress.begun(job.trial.arm.name)
                    self._record(job, Outcome(self._row_without_sandbox(job, ending, self._now())))

    def _keep_evidence(self, row: dict[str, object], outcome: Outcome) -> None:
        sweep, attempt = self._facts.sweep_id, str(row["attempt_id"])
        for name, suffix, data in (
            ("transcript", ".jsonl.zst", outcome.transcript),
            ("artifacts", ".artifacts.tar.zst", outcome.artifacts),
        ):
            if data is not None:
                row[f"{name}_uri"], row[f"{name}_sha256"] = write_blob(self._book.root, sweep, attempt, suffix, data)
        for kind, key, fields in outcome.dimensions:
            write_entry(self._book.root, kind, key, fields)

    def _settle(self) -> None:
        """Make what was recorded durable, and only then count it. Rows that end close together share a sync.

        So are attempts that were begun, where they would be forgotten with this process: what a node that is lost
        with it was running, for hours perhaps, could not be told.
        """
        if not self._uncommitted and not self._book.store.at_risk:
            return
        self._book.store.commit()
        for row, settled in self._uncommitted:
            self._book.progress.ended(row, settled)
            self._book.notify("attempt", row)
        self._cluster.durable([str(row["attempt_id"]) for row, _ in self._uncommitted])
        self._uncommitted.clear()

    def _cancel_running(self) -> None:
        self._cluster.close()
        self.cancelled = len(self._running)
        for worker, (job, started) in list(self._running.items()):
            del self._running[worker]
            ending = Ending(Status.CANCELLED, None, "cancelled", self.stopped_by)
            self._record(job, Outcome(self._row_without_sandbox(job, ending, started)))

    def _check_spending(self, elapsed_s: float) -> None:
        short = self._dispatcher.starts_left == 0 and self._dispatcher.pending > 0
        used_up = self._spending.used_up(self._spent_usd, elapsed_s, short)
        if used_up is not None:
            self.stop(used_up)

    def _refresh_capacity(self, now_s: float) -> None:
        capacity = self._cluster.capacity()
        self._dispatcher.capacity_cpus = capacity.cpus
        self._dispatcher.capacity_memory_mb = capacity.memory_mb
        self._dispatcher.capacity_gpus = capacity.gpus
        said, enough = self._awaited.look(self._dispatcher.pending_shapes, bool(self._running), capacity, now_s)
        for text in said:
            self._book.notify("waiting", {"message": text})
        if enough is not None:
            self.stop(enough)

    def _report(self, now_s: float) -> None:
        progress = self._book.progress
        progress.now_s = now_s
        progress.waiting = self._dispatcher.pending
        progress.workers = self._dispatcher.workers
        self._book.notify("progress", {})
