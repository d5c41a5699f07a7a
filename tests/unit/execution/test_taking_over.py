"""A controller that is started again takes up what workers hold: each trial once, nothing thrown away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.execution.assignment import Assignment, begun_fields
from orchestrator.execution.cluster import Adopted, AttemptEnded, Event, WorkerDied
from orchestrator.execution.freeze import Assigner, facts, freeze
from orchestrator.execution.inline_cluster import InlineCluster
from orchestrator.execution.session import RunOptions, new_writer, run_sweep
from orchestrator.execution.worker import Worker
from orchestrator.storage.reading import scan
from orchestrator.storage.remote_journal import ReplacedError
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from orchestrator.storage.sweeps import write_plan
from tests.unit.execution.test_session import (
    CONFIG,
    NOW,
    AgentDeps,
    FakeProvider,
    Place,
    build_agent,
    first_cores,
    give_reward,
    make_suite,
    partial,
)


@dataclass
class Before:
    """A sweep of four trials whose first controller is gone."""

    root: Root
    told: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.frozen = freeze(CONFIG, make_suite("t0", "t1"), self.root, NOW)
        write_plan(self.root, self.frozen.plan)
        assigner = Assigner(self.frozen, lambda: NOW)
        self.assignments = [assigner(job) for job in assigner.jobs({}, (0,))]

    def worker(self) -> Worker:
        provider = FakeProvider(give_reward)
        place = Place(provider, first_cores, provider.readings, "n1")
        return Worker(facts(self.frozen), place, partial(build_agent, deps=AgentDeps()), provider.host())

    def journal(self, begun: Sequence[int] = (), rows: Sequence[int] = ()) -> None:
        with RowStore(self.root, self.frozen.plan.sweep_id, new_writer()) as store:
            for number in begun:
                store.begin(begun_fields(self.assignments[number]))
            for number in rows:
                store.add({**self.worker().run(self.assignments[number]).row, "final": True})
            store.commit()

    def go_on(self, cluster: "Surviving") -> None:
        freshly = freeze(CONFIG, make_suite("t0", "t1"), self.root, NOW)
        run_sweep(
            freshly, self.root, lambda: cluster, RunOptions(adopt=True), lambda e, f: self.told.append((e, dict(f)))
        )

    def rows(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for table in scan(self.root):
            for row in table.to_pylist():
                found.setdefault(row["trial_key"], []).append(f"{row['attempt']} {row['status']}")
        return {key: sorted(states) for key, states in found.items()}


class Surviving(InlineCluster):
    """Its workers were there before: number 1 runs `running`, number 2 has finished the others."""

    def __init__(self, before: Before, running: int | None = None, finished: Sequence[int] = (), dies: bool = False):
        super().__init__(before.worker(), cpus=2.0)
        self._before, self._running, self._finished, self._dies = before, running, finished, dies
        self.started: list[str] = []
        self.retired: list[int] = []
        self.durably: list[str] = []
        self.ended: list[str] = []
        self.fails_with: Exception | None = None

    def adopt(self) -> list[Adopted]:
        made = [self._before.assignments[n] for n in self._finished]
        pairs = tuple((begun_fields(a), self._before.worker().run(a)) for a in made)
        found = [Adopted(2, None, pairs)] if pairs else []
        if self._running is not None:
            assignment = self._before.assignments[self._running]
            found.append(Adopted(1, begun_fields(assignment)))
            event: Event = AttemptEnded(1, self._before.worker().run(assignment))
            self._events.append(WorkerDied(1, "gone") if self._dies else event)
        return found

    def start(self, worker: int, assignment: Assignment) -> None:
        self.started.append(assignment.attempt_id)
        super().start(worker, assignment)

    def retire(self, worker: int) -> None:
        self.retired.append(worker)
        super().retire(worker)

    def durable(self, attempts: Sequence[str]) -> None:
        self.durably += attempts

    def poll(self, timeout_s: float) -> list[Event]:
        if self.fails_with is not None:
            raise self.fails_with
        return super().poll(timeout_s)

    def leave(self) -> None:
        self.ended.append("left")

    def close(self) -> None:
        self.ended.append("closed")
        super().close()


@pytest.fixture
def before(tmp_path: Path) -> Before:
    return Before(Root(tmp_path))


def ids(before: Before, *numbers: int) -> list[str]:
    return [before.assignments[n].attempt_id for n in numbers]


@pytest.mark.parametrize("announced", [(0, 1), ()], ids=["in the journal", "lost from the journal"])
def test_what_runs_goes_on_and_what_ended_hands_over(before: Before, announced: tuple[int, ...]) -> None:
    before.journal(begun=announced)
    cluster = Surviving(before, running=0, finished=(1,))
    before.go_on(cluster)
    assert sorted(before.rows().values()) == [["0 PASSED"]] * 4
    assert sorted(cluster.started) == sorted(ids(before, 2, 3))
    assert sorted(cluster.durably) == sorted(ids(before, 0, 1, 2, 3))
    assert (
        "taken_over",
        {"message": "took over 1 attempts under way and 1 that had ended", "running": 1, "finished": 1},
    ) in before.told


def test_a_begun_attempt_that_nobody_holds_is_lost_and_runs_again(before: Before) -> None:
    before.journal(begun=(0, 1))
    before.go_on(Surviving(before, running=0))
    states = before.rows()
    assert states[before.assignments[1].job.trial.key] == ["0 LOST", "1 PASSED"]
    assert states[before.assignments[0].job.trial.key] == ["0 PASSED"]


def test_an_outcome_whose_row_is_there_is_not_written_twice_and_need_not_be_kept(before: Before) -> None:
    before.journal(begun=(0,), rows=(0,))
    cluster = Surviving(before, finished=(0,))
    before.go_on(cluster)
    assert sorted(before.rows().values()) == [["0 PASSED"]] * 4
    assert ids(before, 0)[0] in cluster.durably


def test_a_worker_at_an_attempt_that_has_a_row_already_is_ended(before: Before) -> None:
    before.journal(begun=(0,), rows=(0,))
    cluster = Surviving(before, running=0)
    before.go_on(cluster)
    assert cluster.retired[0] == 1
    assert sorted(before.rows().values()) == [["0 PASSED"]] * 4


def test_a_worker_that_dies_after_it_was_taken_over_loses_that_attempt_only(before: Before) -> None:
    before.journal(begun=(0,))
    before.go_on(Surviving(before, running=0, dies=True))
    states = before.rows()
    key = before.assignments[0].job.trial.key
    assert states.pop(key) == ["0 LOST"]
    assert sorted(states.values()) == [["0 PASSED"]] * 3


def test_what_is_taken_over_survives_the_death_of_the_second_controller_too(before: Before) -> None:
    before.journal(begun=())
    second = Surviving(before, running=0)
    second.fails_with = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        before.go_on(second)
    before.go_on(Surviving(before))
    assert before.rows()[before.assignments[0].job.trial.key] == ["0 LOST", "1 PASSED"]


@pytest.mark.parametrize("error", [OSError("the store is away"), ReplacedError("another took over")])
def test_a_controller_that_cannot_write_leaves_its_workers_to_the_next(before: Before, error: Exception) -> None:
    cluster = Surviving(before, running=0)
    cluster.fails_with = error
    with pytest.raises(type(error)):
        before.go_on(cluster)
    assert cluster.ended == ["left"]
