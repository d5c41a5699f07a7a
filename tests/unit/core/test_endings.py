"""What each ending is called, whose doing it is, what is tried again and what counts in a score."""

import pytest

from orchestrator.core.ending import Observed, classify
from orchestrator.core.retry import (
    BROKEN_TASK,
    CONTROLLER_LOST,
    RETRIABLE,
    RetryPolicy,
    is_taken_up_again,
    uses_up,
)
from orchestrator.core.status import Origin, ScoringRule, Status

S = Status


@pytest.mark.parametrize(
    ("seen", "status", "phase"),
    [
        (Observed("finished", passed=True), S.PASSED, None),
        (Observed("finished", passed=False), S.FAILED, None),
        (Observed("limit", "turns", passed=False), S.FAILED, "agent"),
        (Observed("limit", "turns", passed=True), S.PASSED, None),
        (Observed("timeout", passed=True), S.PASSED, None),
        (Observed("timeout", passed=False), S.AGENT_TIMEOUT, "agent"),
        (Observed("error", passed=False), S.AGENT_ERROR, "agent"),
        (Observed("error", passed=True), S.PASSED, None),
        (Observed("model_error"), S.MODEL_ERROR, "agent"),
        (Observed("model_error", oom_kills_agent=1), S.MODEL_ERROR, "agent"),
        (Observed("budget"), S.BUDGET, "agent"),
        (Observed("finished", passed=True, oom_kills_agent=3), S.PASSED, None),
        (Observed("finished", passed=False, oom_kills_agent=1), S.OUT_OF_MEMORY, "agent"),
        (Observed("error", passed=False, oom_kills_agent=1), S.OUT_OF_MEMORY, "agent"),
        (Observed("timeout", passed=False, oom_kills_agent=1), S.OUT_OF_MEMORY, "agent"),
        (Observed("finished", passed=False, oom_kills_grader=1), S.OUT_OF_MEMORY, "grade"),
        (Observed("finished", grader_error="missing", oom_kills_grader=1), S.OUT_OF_MEMORY, "grade"),
        (Observed("finished", grader_error="missing", oom_kills_agent=1), S.GRADER_ERROR, "grade"),
        (Observed("finished", passed=False, pids_hits=2), S.OUT_OF_PIDS, "agent"),
        (Observed("finished", passed=True, pids_hits=2), S.PASSED, None),
        (Observed("finished", passed=False, disk_full=True), S.OUT_OF_DISK, "agent"),
        (Observed("finished", grader_error="missing", disk_full=True), S.OUT_OF_DISK, "agent"),
        (Observed("finished", grader_error="timeout"), S.GRADER_TIMEOUT, "grade"),
        (Observed("finished", grader_error="malformed"), S.GRADER_ERROR, "grade"),
        (Observed("timeout", grader_error="missing"), S.GRADER_ERROR, "grade"),
    ],
)
def test_what_was_seen_has_one_status_and_phase(seen: Observed, status: Status, phase: str | None) -> None:
    ending = classify(seen)
    assert (ending.status, ending.phase) == (status, phase)


def test_an_ending_keeps_the_words_of_who_caused_it() -> None:
    assert classify(Observed("error", "exit code 3", passed=False)).message == "exit code 3"
    assert classify(Observed("finished", grader_error="missing", grader_message="no file")).message == "no file"
    assert "4 OOM" in str(classify(Observed("finished", passed=False, oom_kills_agent=4)).message)


def test_every_status_has_an_origin_and_a_verdict_is_the_agents_or_the_resources() -> None:
    assert {s for s in S if s.has_verdict} == {
        S.PASSED,
        S.FAILED,
        S.AGENT_ERROR,
        S.AGENT_TIMEOUT,
        S.OUT_OF_MEMORY,
        S.OUT_OF_PIDS,
        S.OUT_OF_DISK,
    }
    assert {s.origin for s in S} == set(Origin)


@pytest.mark.parametrize(
    ("rule", "origins"),
    [
        (ScoringRule.DEFAULT, {Origin.AGENT, Origin.RESOURCES}),
        (ScoringRule.STRICT, set(Origin)),
        (ScoringRule.AGENT_ONLY, {Origin.AGENT}),
    ],
)
def test_a_scoring_rule_counts_by_origin(rule: ScoringRule, origins: set[Origin]) -> None:
    assert {s for s in S if rule.counts(s)} == {s for s in S if s.origin in origins}


def test_only_what_infrastructure_did_can_be_retried() -> None:
    assert {S(word).origin for word in RETRIABLE} == {Origin.INFRASTRUCTURE}
    policy = RetryPolicy(max_retries=5)
    assert all((policy.wait_s(s, 1) is not None) == (s.origin is Origin.INFRASTRUCTURE) for s in S)


def test_waits_double_and_end_with_the_policy() -> None:
    policy = RetryPolicy(max_retries=3, backoff_s=0.5)
    assert [policy.wait_s(S.LOST, n) for n in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, None]
    assert RetryPolicy(max_retries=0).wait_s(S.LOST, 1) is None


def test_a_policy_retries_its_own_causes_only() -> None:
    policy = RetryPolicy(causes=frozenset({"LOST"}))
    assert policy.wait_s(S.LOST, 1) == 1.0
    assert policy.wait_s(S.MODEL_ERROR, 1) is None


@pytest.mark.parametrize(
    ("status", "kind", "uses", "again"),
    [
        (S.LOST, "worker_died", True, False),
        (S.LOST, CONTROLLER_LOST, False, True),
        (S.MODEL_ERROR, "model_error", True, False),
        (S.CANCELLED, "cancelled", False, True),
        (S.CANCELLED, BROKEN_TASK, False, False),
        (S.BUDGET, "budget", False, True),
        (S.FAILED, None, False, False),
        (S.OUT_OF_MEMORY, "oom_kill", False, False),
    ],
)
def test_what_uses_up_the_policy_and_what_leaves_the_trial_open(
    status: Status, kind: str | None, uses: bool, again: bool
) -> None:
    assert (uses_up(status, kind), is_taken_up_again(status, kind)) == (uses, again)
