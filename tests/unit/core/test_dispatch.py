"""Which trial goes to which worker: events in, actions out."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.core.dispatch import Dispatcher, Job, Retire, Shape, Spawn, Start
from orchestrator.core.plan import Arm, TrialSpec

SMALL, LARGE, WIDE = Shape(1.0, 100), Shape(2.0, 100), Shape(1.0, 800)


def make_jobs(shapes: Sequence[Shape], tasks: Sequence[str] = ()) -> list[Job]:
    """One job for each shape, in plan order."""
    names = tasks or [f"t{i}" for i in range(len(shapes))]
    return [
        Job(TrialSpec(f"k{i}", name, Arm("a", "1x"), 0, 0, i), shape)
        for i, (shape, name) in enumerate(zip(shapes, names, strict=True))
    ]


class Cluster:
    """Carries out actions on paper: every worker comes up, attempts end in a random order."""

    def __init__(self, dispatcher: Dispatcher, seed: int) -> None:
        self.dispatcher, self.random = dispatcher, random.Random(seed)
        self.coming: dict[int, Shape] = {}
        self.up: dict[int, Shape] = {}
        self.running: dict[int, Job] = {}
        self.started: list[Job] = []
        self.now_s = 0.0

    def act(self, actions: Sequence[object]) -> None:
        for action in actions:
            match action:
                case Spawn(worker, shape):
                    self.coming[worker] = shape
                case Retire(worker):
                    assert worker not in self.running
                    self.coming.pop(worker, None)
                    self.up.pop(worker, None)
                case Start(worker, job):
                    assert self.up[worker] == job.shape
                    assert worker not in self.running
                    self.running[worker] = job
                    self.started.append(job)
        self.check()

    def check(self) -> None:
        held = [job.shape for job in self.running.values()]
        limit = self.dispatcher
        assert sum(s.cpus for s in held) <= limit.capacity_cpus + 1e-9
        assert sum(s.memory_mb for s in held) <= limit.capacity_memory_mb
        assert limit.concurrency is None or len(held) <= limit.concurrency
        assert sorted(j.trial.key for j in limit.running) == sorted(j.trial.key for j in self.running.values())

    def step(self) -> None:
        """One thing happens, chosen at random: a worker comes up, an attempt ends, or time goes by."""
        choice = self.random.randrange(3)
        if choice == 0 and self.coming:
            worker = self.random.choice(list(self.coming))
            self.up[worker] = self.coming.pop(worker)
            self.act(self.dispatcher.ready(worker))
        elif choice == 1 and self.running:
            worker = self.random.choice(list(self.running))
            del self.running[worker]
            self.act(self.dispatcher.ended(worker))
        else:
            self.now_s += 1.0
            self.act(self.dispatcher.tick(self.now_s))

    def run(self) -> list[Job]:
        for _ in range(100 * (10 + self.dispatcher.pending)):
            if self.dispatcher.done:
                return self.started
            self.step()
        raise AssertionError(f"{self.dispatcher.pending} jobs were never started")


PLANS = st.lists(st.sampled_from([SMALL, LARGE, WIDE]), min_size=1, max_size=40)


@settings(deadline=None)
@given(PLANS, st.integers(0, 10**6), st.none() | st.integers(1, 3), st.sampled_from([2.0, 3.0, 8.0]))
def test_every_job_starts_exactly_once_within_the_capacity(
    shapes: list[Shape], seed: int, concurrency: int | None, cpus: float
) -> None:
    dispatcher = Dispatcher(cpus, 1000, concurrency=concurrency, surplus=0)
    jobs = make_jobs(shapes)
    dispatcher.add(jobs)
    started = Cluster(dispatcher, seed).run()
    assert sorted(j.trial.position for j in started) == list(range(len(jobs)))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([2.0, 4.0]), st.integers(0, 100))
def test_a_rare_shape_does_not_starve_behind_a_common_one(seed: int, cpus: float, place: int) -> None:
    shapes = [SMALL] * 200
    shapes.insert(place, LARGE)
    dispatcher = Dispatcher(cpus, 10_000, surplus=0)
    dispatcher.add(make_jobs(shapes))
    order = [job.shape for job in Cluster(dispatcher, seed).run()]
    assert order.index(LARGE) <= place + 60


@settings(deadline=None)
@given(PLANS, st.integers(0, 10**6))
def test_a_failed_attempt_comes_back_and_the_retry_is_started_once(shapes: list[Shape], seed: int) -> None:
    dispatcher = Dispatcher(4.0, 2000, surplus=0)
    dispatcher.add(make_jobs(shapes))
    cluster = Cluster(dispatcher, seed)
    again = {job.trial.key for job in make_jobs(shapes) if job.trial.position % 3 == 0}
    for key in sorted(again):
        job = next(j for j in make_jobs(shapes) if j.trial.key == key)
        dispatcher.add_later(replace(job, attempt=1), cluster.random.random() * 20)
    started = cluster.run()
    assert sorted((j.trial.key, j.attempt) for j in started) == sorted(
        [(j.trial.key, 0) for j in make_jobs(shapes)] + [(key, 1) for key in again]
    )


def started_by(dispatcher: Dispatcher, now_s: float = 0.0) -> list[Start]:
    """What starts when every worker that is asked for comes up at once."""
    found: list[Start] = []
    for action in dispatcher.tick(now_s):
        if isinstance(action, Start):
            found.append(action)
        elif isinstance(action, Spawn):
            found += [a for a in dispatcher.ready(action.worker) if isinstance(a, Start)]
    return found


def test_plan_order_is_kept_for_one_shape() -> None:
    dispatcher = Dispatcher(1.0, 1000, surplus=0)
    dispatcher.add(make_jobs([SMALL] * 5))
    order = started_by(dispatcher)
    while not dispatcher.done:
        order += [a for a in dispatcher.ended(order[-1].worker) if isinstance(a, Start)]
    assert [start.job.trial.position for start in order] == [0, 1, 2, 3, 4]
    assert len({start.worker for start in order}) == 1


def test_a_little_more_than_fits_is_asked_for_when_the_cluster_may_grow() -> None:
    dispatcher = Dispatcher(2.0, 1000, surplus=1)
    dispatcher.add(make_jobs([SMALL] * 9))
    assert [type(a) for a in dispatcher.tick(0.0)] == [Spawn] * 3


def test_a_retry_waits_for_its_time_and_then_goes_first() -> None:
    dispatcher = Dispatcher(1.0, 1000, surplus=0)
    first, second, third = make_jobs([SMALL] * 3)
    dispatcher.add([first, second, third])
    (start,) = started_by(dispatcher)
    dispatcher.add_later(replace(first, attempt=1), 5.0)
    assert dispatcher.tick(4.9) == []
    assert dispatcher.ended(start.worker) == [Start(start.worker, second)]
    dispatcher.tick(5.0)
    assert dispatcher.ended(start.worker) == [Start(start.worker, replace(first, attempt=1))]
    assert dispatcher.ended(start.worker) == [Start(start.worker, third)]


def test_a_sweep_is_not_done_while_a_retry_waits() -> None:
    dispatcher = Dispatcher(1.0, 1000, surplus=0)
    dispatcher.add_later(make_jobs([SMALL])[0], 5.0)
    assert (dispatcher.done, dispatcher.pending) == (False, 1)
    assert len(started_by(dispatcher, 6.0)) == 1


def test_what_a_dead_worker_had_is_handed_back_and_its_place_is_filled() -> None:
    dispatcher = Dispatcher(1.0, 1000, surplus=0)
    jobs = make_jobs([SMALL] * 2)
    dispatcher.add(jobs)
    (start,) = started_by(dispatcher)
    assert dispatcher.died(start.worker) == jobs[0]
    assert dispatcher.died(start.worker) is None
    assert dispatcher.ended(start.worker) == []
    assert dispatcher.ready(start.worker) == [Retire(start.worker)]
    assert [s.job for s in started_by(dispatcher)] == [jobs[1]]


def test_stop_starts_nothing_more_and_lets_what_runs_end() -> None:
    dispatcher = Dispatcher(2.0, 1000, surplus=0)
    dispatcher.add(make_jobs([SMALL] * 5))
    one, two = started_by(dispatcher)
    dispatcher.stop()
    assert not dispatcher.done
    assert dispatcher.ended(one.worker) == [Retire(one.worker)]
    assert dispatcher.tick(1.0) == []
    assert dispatcher.ended(two.worker) == [Retire(two.worker)]
    assert dispatcher.done
    assert dispatcher.pending == 3


def test_drop_task_takes_out_what_waits_and_leaves_what_runs() -> None:
    dispatcher = Dispatcher(1.0, 1000, surplus=0)
    jobs = make_jobs([SMALL, LARGE, SMALL, SMALL], ["bad", "bad", "good", "bad"])
    dispatcher.add(jobs)
    (start,) = started_by(dispatcher)
    dispatcher.add_later(replace(jobs[0], attempt=1), 9.0)
    dropped = dispatcher.drop_task("bad")
    assert [(j.trial.position, j.attempt) for j in dropped] == [(0, 1), (1, 0), (3, 0)]
    assert dispatcher.running == [start.job]
    assert dispatcher.ended(start.worker) == [Start(start.worker, jobs[2])]
    assert dispatcher.pending == 0


def test_a_shape_that_no_longer_fits_does_not_hold_up_the_others() -> None:
    dispatcher = Dispatcher(2.0, 1000, surplus=0)
    large, small = make_jobs([LARGE, SMALL])
    dispatcher.add([large, small])
    dispatcher.capacity_cpus = 1.0
    assert [s.job for s in started_by(dispatcher)] == [small]


def test_a_shape_that_fits_nowhere_yet_is_still_asked_for_when_the_cluster_may_grow() -> None:
    dispatcher = Dispatcher(1.0, 1000, surplus=1)
    dispatcher.add(make_jobs([LARGE, SMALL, SMALL]))
    assert [a.shape for a in dispatcher.tick(0.0) if isinstance(a, Spawn)] == [LARGE, SMALL]


def test_no_more_than_the_bound_is_started_and_the_rest_stays() -> None:
    dispatcher = Dispatcher(4.0, 1000, surplus=0, starts_left=3)
    dispatcher.add(make_jobs([SMALL] * 9))
    starts = started_by(dispatcher)
    assert len(starts) == 3
    assert dispatcher.stopping
    for start in starts:
        assert not [a for a in dispatcher.ended(start.worker) if isinstance(a, Start)]
    assert dispatcher.done
    assert dispatcher.pending == 6


def test_a_bound_that_is_just_enough_stops_nothing() -> None:
    dispatcher = Dispatcher(4.0, 1000, surplus=0, starts_left=3)
    dispatcher.add(make_jobs([SMALL] * 3))
    for start in started_by(dispatcher):
        dispatcher.ended(start.worker)
    assert dispatcher.done
    assert not dispatcher.stopping


@pytest.mark.parametrize("capacity", [{"capacity_cpus": 1.0}, {"capacity_memory_mb": 100.0}])
def test_capacity_that_shrinks_asks_for_fewer_workers(capacity: dict[str, float]) -> None:
    dispatcher = Dispatcher(4.0, 1000, surplus=0)
    dispatcher.add(make_jobs([SMALL] * 4))
    for name, value in capacity.items():
        setattr(dispatcher, name, value)
    assert len(started_by(dispatcher)) == 1
