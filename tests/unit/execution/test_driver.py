"""The driver: rows for every ending, retries, budgets, and what stop, abort and a broken task mean."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from orchestrator.core.dispatch import Job, Shape
from orchestrator.core.plan import Arm, TrialSpec
from orchestrator.core.retry import BROKEN_TASK, RetryPolicy
from orchestrator.core.status import Status
from orchestrator.execution.assignment import Assignment, Outcome
from orchestrator.execution.cluster import AttemptEnded, Capacity, WorkerReady
from orchestrator.execution.driver import Driver
from orchestrator.execution.spending import Spending
from orchestrator.models.usage import ModelUsage
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import trial_states
from tests.unit.execution.scripted import DIES, HANGS, ScriptedCluster, drive, outcome

SHAPE = Shape(1.0, 100)


def make_jobs(count: int, agent: str = "a", tasks: int = 100) -> list[Job]:
    return [
        Job(TrialSpec(f"k{i:03d}", f"t{i % tasks}", Arm(agent, "1x"), 0, i // tasks, i), SHAPE) for i in range(count)
    ]


def passes(assignment: Assignment) -> Outcome:
    return outcome(assignment, Status.PASSED)


def test_every_attempt_is_a_row_and_counts_once(tmp_path: Path) -> None:
    ran = drive(tmp_path, ScriptedCluster(passes), make_jobs(7))
    assert ran.column("trial_key") == [j.trial.key for j in make_jobs(7)]
    assert ran.column("final") == [True] * 7
    progress = ran.driver.progress
    assert (progress.done, progress.running, ran.driver.stopped_by) == (7, 0, None)
    assert len([e for e, _ in ran.heard if e == "attempt"]) == 7


def test_an_attempt_is_told_only_after_its_row_is_on_the_disk(tmp_path: Path) -> None:
    on_disk: list[bool] = []

    def look(driver: Driver, _: int) -> None:
        states = trial_states(Root(tmp_path), "s-1")
        on_disk.append(len(states) >= driver.progress.done)

    drive(tmp_path, ScriptedCluster(passes, on_poll=look), make_jobs(5))
    assert all(on_disk)


def test_what_a_node_says_is_told_once(tmp_path: Path) -> None:
    def script(assignment: Assignment) -> Outcome:
        slow = ("n1: the engine took 7.0 s to start a container",) if assignment.attempt_id == "k001-0" else ()
        return replace(passes(assignment), notices=slow)

    ran = drive(tmp_path, ScriptedCluster(script), make_jobs(3))
    told = [fields for event, fields in ran.heard if event == "engine"]
    assert told == [{"message": "n1: the engine took 7.0 s to start a container"}]


def test_a_worker_that_dies_leaves_a_lost_row_and_the_trial_is_tried_again(tmp_path: Path) -> None:
    def script(assignment: Assignment) -> Outcome | str:
        return DIES if assignment.attempt_id == "k001-0" else passes(assignment)

    ran = drive(tmp_path, ScriptedCluster(script), make_jobs(3))
    lost = [r for r in ran.rows if r["trial_key"] == "k001"]
    assert [(r["attempt"], r["status"], r["final"]) for r in lost] == [(0, "LOST", False), (1, "PASSED", True)]
    assert (lost[0]["failure_kind"], lost[0]["failure_message"]) == ("worker_died", "node n1 is gone")
    assert lost[0]["requested_cpus"] == 1.0
    assert ran.driver.progress.done == 3


@dataclass
class DrainingCluster(ScriptedCluster):
    """The node of the first two workers is being drained, the second one's before it came up."""

    given: list[int] = field(default_factory=list)
    retired: list[int] = field(default_factory=list)

    def spawn(self, worker: int, shape: Shape) -> None:
        self.events.append(WorkerReady(worker, leaving=worker == 2))

    def start(self, worker: int, assignment: Assignment) -> None:
        self.given.append(worker)
        super().start(worker, assignment)
        ended = self.events.pop()
        assert isinstance(ended, AttemptEnded)
        self.events.append(replace(ended, leaving=worker == 1))

    def retire(self, worker: int) -> None:
        self.retired.append(worker)


def test_workers_of_a_draining_node_end_what_they_run_and_get_nothing_more(tmp_path: Path) -> None:
    cluster = DrainingCluster(passes)
    ran = drive(tmp_path, cluster, make_jobs(6))
    assert ran.column("status") == ["PASSED"] * 6
    assert ran.column("attempt") == [0] * 6
    assert Counter(cluster.given)[1] == 1
    assert Counter(cluster.given)[2] == 0
    assert {1, 2} <= set(cluster.retired)
    assert not [event for event, _ in ran.heard if event == "worker_failed"]


@dataclass
class GrowingCluster(ScriptedCluster):
    """Has two cores until it was looked at so often; then a node of eight comes. Workers that fit come up."""

    grows_at: int = 10**6
    asked: list[tuple[int, Shape]] = field(default_factory=list)

    def capacity(self) -> Capacity:
        if self.polls >= self.grows_at:
            self.cpus = 8.0
            for worker, _ in self.asked:
                self.events.append(WorkerReady(worker))
            self.asked.clear()
        return super().capacity()

    def spawn(self, worker: int, shape: Shape) -> None:
        if shape.cpus > self.cpus:
            self.asked.append((worker, shape))
        else:
            super().spawn(worker, shape)


def test_trials_that_fit_no_node_are_asked_for_and_wait_for_one(tmp_path: Path) -> None:
    large = [replace(job, shape=Shape(8.0, 100)) for job in make_jobs(1)]
    ran = drive(
        tmp_path, GrowingCluster(passes, grows_at=40), [*large, *make_jobs(4)[1:]], surplus=1, await_nodes_s=500
    )
    assert ran.column("status") == ["PASSED"] * 4
    told = [fields["message"] for event, fields in ran.heard if event == "waiting"]
    assert len(told) == 1
    assert "8 cores were promised and the largest node has 2" in str(told[0])


def test_a_sweep_stops_when_no_node_comes_and_its_trials_stay_open(tmp_path: Path) -> None:
    large = [replace(job, shape=Shape(8.0, 100)) for job in make_jobs(1)]
    cluster = GrowingCluster(passes)
    ran = drive(tmp_path, cluster, [*large, *make_jobs(4)[1:]], surplus=1, await_nodes_s=500)
    assert len(cluster.asked) == 1  # an autoscaler sees the demand
    assert ran.column("trial_key") == ["k001", "k002", "k003"]
    assert ran.driver.stopped_by is not None
    assert "no node came in 8 minutes: 8 cores were promised" in ran.driver.stopped_by


def test_retries_end_with_the_policy_and_the_last_failure_stands(tmp_path: Path) -> None:
    cluster = ScriptedCluster(lambda a: outcome(a, Status.MODEL_ERROR))
    ran = drive(tmp_path, cluster, make_jobs(2), policy=RetryPolicy(2, backoff_s=0.0))
    assert ran.column("final") == [False, False, True] * 2
    assert ran.column("attempt") == [0, 1, 2] * 2
    assert ran.driver.progress.without_verdict == 2
    assert ran.driver.stopped_by is None


@pytest.mark.parametrize("status", [Status.FAILED, Status.AGENT_TIMEOUT, Status.AGENT_ERROR, Status.OUT_OF_MEMORY])
def test_what_the_agent_or_its_resources_did_is_never_tried_again(tmp_path: Path, status: Status) -> None:
    ran = drive(tmp_path, ScriptedCluster(lambda a: outcome(a, status)), make_jobs(2))
    assert ran.column("final") == [True, True]


def test_a_budget_of_trials_is_not_crossed_by_one(tmp_path: Path) -> None:
    ran = drive(tmp_path, ScriptedCluster(passes), make_jobs(10), spending=Spending(trials=3))
    assert len(ran.rows) == 3
    assert ran.driver.stopped_by == "the budget of 3 trials is used up"
    assert ran.driver.progress.waiting == 7


def test_a_budget_that_is_just_enough_stops_nothing(tmp_path: Path) -> None:
    cluster = ScriptedCluster(lambda a: outcome(a, Status.PASSED, cost_usd=0.5))
    ran = drive(tmp_path, cluster, make_jobs(4), spending=Spending(trials=4, usd=2.0))
    assert len(ran.rows) == 4
    assert ran.driver.stopped_by is None


def test_nothing_is_started_once_the_money_is_spent(tmp_path: Path) -> None:
    cluster = ScriptedCluster(lambda a: outcome(a, Status.FAILED, cost_usd=0.4), cpus=1.0)
    ran = drive(tmp_path, cluster, make_jobs(10), spending=Spending(usd=1.0))
    assert len(ran.rows) == 3
    assert ran.driver.stopped_by == "the budget of 1.0 USD is used up"


def test_the_hours_of_a_budget_end_it(tmp_path: Path) -> None:
    ran = drive(
        tmp_path, ScriptedCluster(lambda _: HANGS, on_poll=end_later), make_jobs(3), spending=Spending(seconds=9)
    )
    assert "hours is used up" in str(ran.driver.stopped_by)


def end_later(driver: Driver, polls: int) -> None:
    if polls > 50:
        driver.abort(driver.stopped_by or "the test is over")


def test_a_refused_key_ends_the_sweep_at_once(tmp_path: Path) -> None:
    cluster = ScriptedCluster(lambda a: outcome(a, Status.MODEL_ERROR, flags=["auth"]), cpus=1.0)
    ran = drive(tmp_path, cluster, make_jobs(9))
    assert len(ran.rows) == 1
    assert "refused the key" in str(ran.driver.stopped_by)


def test_workers_that_never_come_up_end_the_sweep_with_their_message(tmp_path: Path) -> None:
    ran = drive(tmp_path, ScriptedCluster(passes, refuses_workers=True), make_jobs(3))
    assert ran.rows == []
    assert "no engine" in str(ran.driver.stopped_by)


def test_stop_lets_what_runs_end(tmp_path: Path) -> None:
    cluster = ScriptedCluster(passes, on_poll=lambda driver, polls: driver.stop("enough") if polls == 4 else None)
    ran = drive(tmp_path, cluster, make_jobs(20))
    assert set(ran.column("status")) == {"PASSED"}
    assert [r["attempt_id"] for r in ran.rows] == sorted(cluster.started)
    assert len(ran.rows) < 20


def test_abort_makes_cancelled_rows_and_the_next_run_takes_them_up_again(tmp_path: Path) -> None:
    cluster = ScriptedCluster(
        lambda _: HANGS, on_poll=lambda driver, polls: driver.abort("interrupted twice") if polls == 5 else None
    )
    ran = drive(tmp_path, cluster, make_jobs(4))
    assert cluster.closed
    assert [(r["status"], r["final"], r["failure_message"]) for r in ran.rows] == [
        ("CANCELLED", False, "interrupted twice")
    ] * 2
    states = trial_states(Root(tmp_path), "s-1")
    again = [
        Job(j.trial, j.shape, states[j.trial.key].next_attempt, states[j.trial.key].failures)
        if j.trial.key in states
        else j
        for j in make_jobs(4)
    ]
    later = drive(tmp_path, ScriptedCluster(passes), again)
    assert Counter(r["trial_key"] for r in later.rows if r["final"]) == {j.trial.key: 1 for j in again}
    assert [(r["attempt"], r["status"]) for r in later.rows if r["trial_key"] == "k000"] == [
        (0, "CANCELLED"),
        (1, "PASSED"),
    ]


def test_a_task_its_own_solution_never_passes_is_left_out(tmp_path: Path) -> None:
    def script(assignment: Assignment) -> Outcome:
        return outcome(assignment, Status.FAILED if assignment.task.name == "t0" else Status.PASSED)

    ran = drive(tmp_path, ScriptedCluster(script, cpus=1.0), make_jobs(12, "oracle", tasks=2), broken_after=2)
    broken = [r for r in ran.rows if r["task"] == "t0"]
    assert Counter(r["status"] for r in broken) == {"FAILED": 2, "CANCELLED": 4}
    assert all(r["final"] for r in ran.rows)
    assert {r["failure_kind"] for r in broken if r["status"] == "CANCELLED"} == {BROKEN_TASK}
    assert [r["status"] for r in ran.rows if r["task"] == "t1"] == ["PASSED"] * 6
    assert [fields["task"] for event, fields in ran.heard if event == "broken_task"] == ["t0"]
    assert all(state.settled for state in trial_states(Root(tmp_path), "s-1").values())
    assert ran.driver.progress.running == 0


def test_a_task_that_was_solved_once_is_not_broken(tmp_path: Path) -> None:
    def script(assignment: Assignment) -> Outcome:
        return outcome(assignment, Status.PASSED if assignment.job.trial.repeat == 0 else Status.FAILED)

    ran = drive(tmp_path, ScriptedCluster(script, cpus=1.0), make_jobs(5, "oracle", tasks=1), broken_after=2)
    assert Counter(ran.column("status")) == {"PASSED": 1, "FAILED": 4}


def test_evidence_is_kept_beside_the_row_that_names_it(tmp_path: Path) -> None:
    def script(assignment: Assignment) -> Outcome:
        row = passes(assignment).row
        return Outcome(row, b"said", b"made", (("hosts", "h1", {"cpu": "x", "cores": [0, 1]}),))

    (row,) = drive(tmp_path, ScriptedCluster(script), make_jobs(1)).rows
    assert (tmp_path / str(row["transcript_uri"])).read_bytes() == b"said"
    assert (tmp_path / str(row["artifacts_uri"])).read_bytes() == b"made"
    assert (tmp_path / "hosts" / "h1.parquet").is_file()


def test_what_a_dead_worker_had_spent_is_on_its_lost_row(tmp_path: Path) -> None:
    used = {"k001-0": ModelUsage(model="m", tokens_in=300, tokens_out=20, cost_usd=0.5, calls=3)}

    def script(assignment: Assignment) -> Outcome | str:
        return DIES if assignment.attempt_id in ("k001-0", "k002-0") else passes(assignment)

    ran = drive(tmp_path, ScriptedCluster(script), make_jobs(3), usage=used.get)
    lost = {r["trial_key"]: r for r in ran.rows if r["status"] == "LOST"}
    assert [lost["k001"][name] for name in ("calls", "tokens_in", "cost_usd", "model")] == [3, 300, 0.5, "m"]
    assert lost["k002"]["calls"] is lost["k002"]["cost_usd"] is None
