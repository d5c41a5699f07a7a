"""Which trial goes to which worker next. A plain object: events in, actions out. No clock, no Ray.

Design. Workers have a shape (the promise Ray admits them by) and serve trials of that shape only; a worker
is used again while its shape is wanted. What is wanted is computed by filling the cluster's capacity with
the running trials and then with the pending ones in plan order, so that a plan of mixed shapes keeps its
order up to the granularity of a worker, and a shape never starves behind a commoner one. A little more than
fits is asked for (`surplus`), so that an autoscaler sees waiting demand.

State is what cannot be derived: the pending queue, the retries that wait, the workers. Nothing is kept of a
finished trial.
"""

import heapq
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.core.plan import TrialSpec


@dataclass(frozen=True, slots=True)
class Shape:
    """What a worker is admitted by."""

    cpus: float
    memory_mb: int
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt that is to be made. `failures`: attempts so far that used up the retry policy."""

    trial: TrialSpec
    shape: Shape
    attempt: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Spawn:
    worker: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Start:
    worker: int
    job: Job


@dataclass(frozen=True, slots=True)
class Retire:
    worker: int


Action = Spawn | Start | Retire


@dataclass(slots=True)
class _Worker:
    shape: Shape
    ready: bool = False
    job: Job | None = None


@dataclass(slots=True)
class Dispatcher:
    """Feeds workers. Every job given is started exactly once per call of `add`, unless `stop` comes first.

    `starts_left`: it stops by itself instead of starting more than so many; None: no bound.
    """

    capacity_cpus: float
    capacity_memory_mb: float
    capacity_gpus: float = 0.0
    concurrency: int | None = None
    surplus: int = 1
    stopping: bool = False
    starts_left: int | None = None
    _pending: dict[Shape, deque[Job]] = field(default_factory=dict)
    _waiting: list[tuple[float, int, Job]] = field(default_factory=list)
    _workers: dict[int, _Worker] = field(default_factory=dict)
    _serial: int = 0

    def add(self, jobs: Iterable[Job]) -> None:
        """Jobs in plan order, behind those that are there."""
        for job in jobs:
            self._pending.setdefault(job.shape, deque()).append(job)

    def add_later(self, job: Job, at_s: float) -> None:
        """A further attempt, to be started at `at_s` or later, ahead of what is pending."""
        self._serial += 1
        heapq.heappush(self._waiting, (at_s, self._serial, job))

    def adopt(self, worker: int, job: Job) -> None:
        """A worker that was there before, with the attempt it has under way; later workers get higher numbers."""
        self._workers[worker] = _Worker(job.shape, ready=True, job=job)
        self._serial = max(self._serial, worker)

    def ready(self, worker: int) -> list[Action]:
        """A worker that was asked for has come up."""
        known = self._workers.get(worker)
        if known is None:
            return [Retire(worker)]
        known.ready = True
        return self._feed(worker, known)

    def ended(self, worker: int) -> list[Action]:
        """A worker has handed over its attempt and is free."""
        known = self._workers.get(worker)
        if known is None:
            return []
        known.job = None
        return self._feed(worker, known)

    def dismiss(self, worker: int) -> list[Action]:
        """A worker without an attempt that must not be given one any more; another is asked for elsewhere."""
        self._workers.pop(worker, None)
        return [Retire(worker)]

    def died(self, worker: int) -> Job | None:
        """A worker is gone; returns the attempt that went with it."""
        known = self._workers.pop(worker, None)
        return known.job if known else None

    def tick(self, now_s: float) -> list[Action]:
        """Take up due retries, ask for workers that are wanted, retire those that are not."""
        while self._waiting and self._waiting[0][0] <= now_s:
            job = heapq.heappop(self._waiting)[2]
            self._pending.setdefault(job.shape, deque()).appendleft(job)
        actions: list[Action] = []
        if self.stopping:
            return self._retire_idle()
        wanted = self._wanted()
        have = Counter(w.shape for w in self._workers.values())
        for worker, known in list(self._workers.items()):
            if known.job is None and have[known.shape] > wanted[known.shape]:
                have[known.shape] -= 1
                del self._workers[worker]
                actions.append(Retire(worker))
        for shape, count in wanted.items():
            for _ in range(count - have[shape]):
                self._serial += 1
                self._workers[self._serial] = _Worker(shape)
                actions.append(Spawn(self._serial, shape))
        for worker, known in list(self._workers.items()):
            if known.ready and known.job is None:
                actions += self._feed(worker, known)
        return actions

    def drop_task(self, task: str) -> list[Job]:
        """Take out everything of a task that has not started, in plan order."""
        dropped: list[Job] = []
        for shape, queue in self._pending.items():
            dropped += [job for job in queue if job.trial.task == task]
            self._pending[shape] = deque(job for job in queue if job.trial.task != task)
        dropped += [job for _, _, job in self._waiting if job.trial.task == task]
        self._waiting = [entry for entry in self._waiting if entry[2].trial.task != task]
        heapq.heapify(self._waiting)
        return sorted(dropped, key=lambda job: job.trial.position)

    def stop(self) -> None:
        """Start nothing more; what runs may end."""
        self.stopping = True

    @property
    def pending(self) -> int:
        return sum(map(len, self._pending.values())) + len(self._waiting)

    @property
    def pending_shapes(self) -> frozenset[Shape]:
        """Of everything that has not started."""
        return frozenset(s for s, q in self._pending.items() if q) | {entry[2].shape for entry in self._waiting}

    @property
    def running(self) -> list[Job]:
        return [w.job for w in self._workers.values() if w.job]

    @property
    def workers(self) -> int:
        return len(self._workers)

    @property
    def done(self) -> bool:
        """Nothing runs, and nothing will."""
        busy = any(w.job for w in self._workers.values())
        return not busy and (self.stopping or self.pending == 0)

    def _feed(self, worker: int, known: _Worker) -> list[Action]:
        queue = self._pending.get(known.shape)
        if queue and self.starts_left == 0:
            self.stopping = True
        if self.stopping or not queue or self._is_overtaken(known.shape):
            if self._pending_elsewhere(known.shape) or self.stopping:
                del self._workers[worker]
                return [Retire(worker)]
            return []
        known.job = queue.popleft()
        if self.starts_left is not None:
            self.starts_left -= 1
        return [Start(worker, known.job)]

    def _is_overtaken(self, shape: Shape) -> bool:
        """Whether another shape's oldest trial has waited more than a few rounds of workers."""
        lag = 4 * max(1, len(self._workers))
        mine = self._pending[shape][0].trial.position
        others = (q[0].trial.position for s, q in self._pending.items() if s != shape and q and self._fits(s))
        return any(mine - other > lag for other in others)

    def _fits(self, shape: Shape, cpus: float = 0.0, memory_mb: float = 0.0, gpus: float = 0.0) -> bool:
        """Whether one more of this shape fits beside what is held already."""
        return (
            cpus + shape.cpus <= self.capacity_cpus + 1e-9
            and memory_mb + shape.memory_mb <= self.capacity_memory_mb
            and gpus + shape.gpus <= self.capacity_gpus + 1e-9
        )

    def _pending_elsewhere(self, shape: Shape) -> bool:
        return any(queue for other, queue in self._pending.items() if other != shape)

    def _retire_idle(self) -> list[Action]:
        idle = [worker for worker, known in self._workers.items() if known.job is None]
        for worker in idle:
            del self._workers[worker]
        return [Retire(worker) for worker in idle]

    def _wanted(self) -> Counter[Shape]:
        """Workers per shape: what runs, then the pending ones in plan order until the capacity is full.

        A shape that would not fit an empty cluster (a node was lost) is passed over, so that it does not hold
        up the others.
        """
        wanted: Counter[Shape] = Counter(w.shape for w in self._workers.values() if w.job)
        cpus = sum(s.cpus * n for s, n in wanted.items())
        memory = float(sum(s.memory_mb * n for s, n in wanted.items()))
        gpus = float(sum(s.gpus * n for s, n in wanted.items()))
        total = sum(wanted.values())
        extra = self.surplus
        queues = [(q[0].trial.position, i, iter(q)) for i, q in enumerate(self._pending.values()) if q]
        heapq.heapify(queues)
        heads = {i: next(it) for _, i, it in queues}
        while queues:
            _, index, rest = heapq.heappop(queues)
            shape = heads[index].shape
            possible = self._fits(shape)
            if not self._fits(shape, cpus, memory, gpus):
                if extra <= 0 and possible:
                    break
                if extra <= 0:
                    continue
                extra -= 1
            if self.concurrency is not None and total >= self.concurrency:
                break
            wanted[shape] += 1
            total += 1
            if possible:
                cpus, memory, gpus = cpus + shape.cpus, memory + shape.memory_mb, gpus + shape.gpus
            following = next(rest, None)
            if following is not None:
                heads[index] = following
                heapq.heappush(queues, (following.trial.position, index, rest))
        return wanted
