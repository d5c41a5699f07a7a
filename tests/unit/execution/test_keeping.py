"""A worker that outlives its controller keeps what nobody has recorded, and ends when nobody comes."""

import threading

import pytest

from orchestrator.execution.assignment import Assignment, Outcome
from orchestrator.execution.keeping import ORPHAN_S, ORPHAN_WITH_OUTCOMES_S, KeepingWorker, end_when_orphaned
from tests.contract.cluster_contract import FACTS, SHAPE, make_assignment, open_worker


class Slow:
    """In a Worker's place: an attempt ends when it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def ping(self) -> tuple[str, int]:
        return "node-1", 1

    def run(self, assignment: Assignment) -> Outcome:
        self.begun.set()
        assert self.go.wait(20)
        if assignment.attempt_id == "k9-0":
            raise RuntimeError("a fault")
        return Outcome({"attempt_id": assignment.attempt_id})


def test_an_outcome_is_kept_until_its_row_is_durable() -> None:
    worker = KeepingWorker(open_worker(FACTS), SHAPE)
    for number in range(3):
        worker.run(make_assignment(number), durable=("k0-0",) if number == 1 else ())
    held = worker.held()
    assert list(held.finished) == ["k1-0", "k2-0"]
    begun, outcome = held.finished["k2-0"]
    assert (begun["attempt_id"], outcome.row["status"]) == ("k2-0", "PASSED")
    assert held.begun is None


def test_the_attempt_under_way_is_told_and_can_be_waited_for() -> None:
    slow = Slow()
    worker = KeepingWorker(slow, SHAPE)
    thread = threading.Thread(target=worker.run, args=(make_assignment(4),))
    thread.start()
    assert slow.begun.wait(20)
    begun = worker.held().begun
    assert begun is not None
    assert (begun["attempt_id"], begun["job"]["attempt"], begun["job"]["failures"]) == ("k4-0", 0, 0)
    slow.go.set()
    assert worker.outcome("k4-0").row == {"attempt_id": "k4-0"}
    thread.join()


def test_waiting_for_an_attempt_the_worker_failed_at_is_a_fault() -> None:
    slow = Slow()
    slow.go.set()
    worker = KeepingWorker(slow, SHAPE)
    with pytest.raises(RuntimeError, match="a fault"):
        worker.run(make_assignment(9))
    with pytest.raises(RuntimeError, match="no outcome of attempt k9-0"):
        worker.outcome("k9-0")
    assert worker.idle


@pytest.mark.parametrize(("keeps", "patience"), [(False, ORPHAN_S), (True, ORPHAN_WITH_OUTCOMES_S)])
def test_a_worker_nobody_asks_for_ends_and_later_when_it_keeps_something(keeps: bool, patience: float) -> None:
    worker = KeepingWorker(open_worker(FACTS), SHAPE)
    if keeps:
        worker.run(make_assignment(0))
    clock, ended = [0.0], []

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    end_when_orphaned(worker, lambda: clock[0] < 1000, lambda: clock[0], sleep, lambda: ended.append(clock[0]))
    assert 1000 + patience <= ended[0] <= 1000 + patience + 61


def test_a_worker_with_an_attempt_under_way_does_not_end() -> None:
    slow = Slow()
    worker = KeepingWorker(slow, SHAPE)
    thread = threading.Thread(target=worker.run, args=(make_assignment(0),))
    thread.start()
    assert slow.begun.wait(20)
    clock, ended = [0.0], []

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        if clock[0] > 10 * ORPHAN_S and not slow.go.is_set():
            slow.go.set()
            thread.join()

    end_when_orphaned(worker, lambda: False, lambda: clock[0], sleep, lambda: ended.append(clock[0]))
    assert ended[0] > 10 * ORPHAN_S
