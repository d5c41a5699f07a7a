"""A cluster that is this process: attempts run when polled. For tests and for orchestration alone."""

from collections import deque
from collections.abc import Sequence

from orchestrator.core.dispatch import Shape
from orchestrator.execution.assignment import Assignment
from orchestrator.execution.cluster import Adopted, AttemptEnded, Capacity, Event, WorkerDied, WorkerReady
from orchestrator.execution.worker import Worker


class InlineCluster:
    """Runs at most one attempt per poll, in the order they were started."""

    def __init__(self, worker: Worker, cpus: float = 2.0, memory_mb: float = 8192.0) -> None:
        self._worker = worker
        self._cpus, self._memory_mb = cpus, memory_mb
        self._events: deque[Event] = deque()
        self._queue: deque[tuple[int, Assignment]] = deque()

    def capacity(self) -> Capacity:
        return Capacity(self._cpus, self._memory_mb, 0.0, self._cpus, self._memory_mb, 0.0, 1)

    def spawn(self, worker: int, shape: Shape) -> None:
        self._events.append(WorkerReady(worker))

    def start(self, worker: int, assignment: Assignment) -> None:
        self._queue.append((worker, assignment))

    def retire(self, worker: int) -> None:
        self._events = deque(event for event in self._events if event.worker != worker)

    def adopt(self) -> list[Adopted]:
        return []

    def durable(self, attempts: Sequence[str]) -> None:
        """Nothing is kept."""

    def leave(self) -> None:
        self.close()

    def poll(self, timeout_s: float) -> list[Event]:
        events = list(self._events)
        self._events.clear()
        if self._queue:
            worker, assignment = self._queue.popleft()
            try:
                events.append(AttemptEnded(worker, self._worker.run(assignment)))
            except Exception as error:  # noqa: BLE001 - as a worker process that dies would
                events.append(WorkerDied(worker, f"{type(error).__name__}: {error}"))
        return events

    def reap(self) -> int:
        return 0

    def close(self) -> None:
        self._queue.clear()
        self._events.clear()
        self._worker.close()
