"""Counts of a sweep while it runs: trials and attempts apart, and whose doing each ending was."""

import pytest

from orchestrator.core.status import Status
from orchestrator.execution.progress import ArmProgress, Progress


def make_progress(**fields: float) -> Progress:
    arms = {"a/1x/live": ArmProgress(planned=4), "b/1x/live": ArmProgress(planned=4)}
    return Progress("s-1", "results", arms, **fields)


def end(progress: Progress, status: Status, settled: bool = True, arm: str = "a/1x/live", **row: object) -> None:
    progress.begun(arm)
    progress.ended({"arm": arm, "status": status.value, **row}, settled)


def test_a_retried_attempt_is_counted_by_its_origin_and_ends_no_trial() -> None:
    progress = make_progress()
    end(progress, Status.LOST, settled=False)
    end(progress, Status.PASSED)
    arm = progress.arms["a/1x/live"]
    assert (arm.attempts, arm.done, arm.passed, arm.running, arm.no_verdict) == (2, 1, 1, 0, 0)
    assert dict(arm.origins) == {"infrastructure": 1}


@pytest.mark.parametrize("status", list(Status))
def test_every_ending_is_either_passed_or_one_origins(status: Status) -> None:
    progress = make_progress()
    end(progress, status)
    arm = progress.arms["a/1x/live"]
    assert arm.passed + arm.origins.total() == 1
    assert progress.without_verdict == (not status.has_verdict)


def test_arms_are_counted_apart_and_add_up() -> None:
    progress = make_progress()
    end(progress, Status.FAILED, cost_usd=0.5)
    end(progress, Status.FAILED, arm="b/1x/live", cost_usd=None)
    progress.begun("b/1x/live")
    assert (progress.planned, progress.done, progress.running) == (8, 2, 1)
    assert [arm.cost_usd for arm in progress.arms.values()] == [0.5, 0.0]


def test_what_remains_follows_from_the_rate_of_this_call_alone() -> None:
    progress = make_progress(started_s=100.0, now_s=130.0)
    for _ in range(3):
        end(progress, Status.PASSED)
    assert progress.remaining_s == 50.0
    progress.done_before = 2
    assert progress.remaining_s == 150.0
    progress.done_before = 3
    assert progress.remaining_s is None
