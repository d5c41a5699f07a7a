"""A cluster whose attempts end as a script says, and a driver on it: everything but machines is real."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.agents.settings import NopSettings, OracleSettings
from orchestrator.core.dispatch import Job, Shape
from orchestrator.core.ending import Ending
from orchestrator.core.plan import attempt_id
from orchestrator.core.retry import RetryPolicy
from orchestrator.core.status import Status
from orchestrator.execution.assignment import Assignment, Outcome, SweepFacts
from orchestrator.execution.cluster import Adopted, AttemptEnded, Capacity, Event, WorkerDied, WorkerReady
from orchestrator.execution.driver import Book, Driver
from orchestrator.execution.progress import ArmProgress, Progress
from orchestrator.execution.rows import lost_row, requested
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from sandboxes.base import ImageSource
from sandboxes.resources import ResourceSpec
from suites.task import Grading, Step, Task

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = ResourceSpec(cpus=1.0, cpus_limit=1.0, pinned=False)
FACTS = SweepFacts("s-1", {"sweep": "s-1", "sweep_name": "s", "suite": "suite"})
DIES = "the worker dies"
HANGS = "the attempt never ends"


def make_task(name: str = "t0", folder: Path = Path("/nowhere"), **fields: object) -> Task:
    """A task of one step that is graded by a reward file."""
    steps = fields.pop("steps", (Step("", "Do it.", Grading()),))
    values = {"image": ImageSource(reference="img"), "steps": steps, **fields}
    return Task(name, "digest-" + name, folder, **values)


def assign(job: Job) -> Assignment:
    trial = job.trial
    agent = (OracleSettings if trial.arm.agent == "oracle" else NopSettings)(
        name=trial.arm.agent, kind="oracle" if trial.arm.agent == "oracle" else "nop"
    )
    columns = {"agent_kind": agent.kind}
    return Assignment(job, attempt_id(trial.key, job.attempt), make_task(trial.task), agent, SPEC, columns=columns)


def outcome(assignment: Assignment, status: Status, **columns: object) -> Outcome:
    constants = {**FACTS.columns, **assignment.columns, **requested(assignment.resources)}
    kind = None if status.has_verdict else "scripted"
    return Outcome(lost_row(assignment.job, constants, Ending(status, None, kind), NOW, NOW) | columns)


Script = Callable[[Assignment], Outcome | str]


@dataclass
class ScriptedCluster:
    """Every worker comes up at once; `script` says how each attempt ends. `started`: attempt ids, in order."""

    script: Script
    cpus: float = 2.0
    refuses_workers: bool = False
    started: list[str] = field(default_factory=list)
    events: deque[Event] = field(default_factory=deque)
    polls: int = 0
    closed: bool = False
    driver: Driver | None = None
    on_poll: Callable[[Driver, int], None] = lambda *_: None

    def capacity(self) -> Capacity:
        return Capacity(self.cpus, 1e6, 0.0, self.cpus, 1e6, 0.0, 1)

    def spawn(self, worker: int, shape: Shape) -> None:
        self.events.append(WorkerDied(worker, "no engine") if self.refuses_workers else WorkerReady(worker))

    def start(self, worker: int, assignment: Assignment) -> None:
        self.started.append(assignment.attempt_id)
        ending = self.script(assignment)
        if ending == DIES:
            self.events.append(WorkerDied(worker, "node n1 is gone"))
        elif isinstance(ending, Outcome):
            self.events.append(AttemptEnded(worker, ending))

    def retire(self, worker: int) -> None:
        """Nothing to end."""

    def adopt(self) -> list[Adopted]:
        return []

    def durable(self, attempts: Sequence[str]) -> None:
        """Nothing is kept."""

    def leave(self) -> None:
        self.close()

    def poll(self, timeout_s: float) -> list[Event]:
        self.polls += 1
        self.on_poll(self.driver, self.polls)
        return [self.events.popleft()] if self.events else []

    def reap(self) -> int:
        return 0

    def close(self) -> None:
        self.closed = True


@dataclass
class Ran:
    """What a run left: its driver, the rows read back from the disk, and what was told."""

    driver: Driver
    rows: list[dict[str, object]]
    heard: list[tuple[str, Mapping[str, object]]]

    def column(self, name: str) -> list[object]:
        return [row[name] for row in self.rows]


def drive(folder: Path | str, cluster: ScriptedCluster, jobs: Iterable[Job], **options: object) -> Ran:
    """Run jobs to their end; a clock that moves a second with every look keeps waits out of tests."""
    listed = list(jobs)
    root = Root(folder)
    progress = Progress("s-1", str(folder), arms={j.trial.arm.name: ArmProgress() for j in listed})
    heard: list[tuple[str, Mapping[str, object]]] = []
    seconds = iter(range(10**6))
    policy = options.pop("policy", RetryPolicy(2, backoff_s=1.0))
    with RowStore(root, "s-1", f"w{len(list(folder.rglob('*'))) if isinstance(folder, Path) else 0}") as store:
        book = Book(root, store, progress, lambda event, fields: heard.append((event, dict(fields))))
        driver = Driver(
            cluster, book, FACTS, policy, assign, monotonic=lambda: float(next(seconds)), now=lambda: NOW, **options
        )
        cluster.driver = driver
        driver.run(listed)
        store.seal()
    rows = [row for table in scan(root) for row in table.to_pylist()]
    return Ran(driver, sorted(rows, key=lambda r: (r["plan_position"], r["attempt"])), heard)
