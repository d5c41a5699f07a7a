"""What agent, grader, counters and diff said of an attempt, put together into its ending. No engine calls but the diff."""

from dataclasses import replace
from typing import Any

from orchestrator.agents.base import AgentResult, ModelUsage
from orchestrator.core.ending import Observed, classify
from orchestrator.core.tampering import inspect_changes
from orchestrator.execution.attempt import Attempt
from sandboxes.base import Sandbox
from suites.graders import combine_steps
from suites.grading import Verdict
from suites.task import Step, Task

TRUSTED_AGENTS = frozenset({"oracle", "nop"})


def check_changes(attempt: Attempt, task: Task, sandbox: Sandbox, verdicts: list[tuple[Step, Verdict]]) -> None:
    """Ask the engine for the diff only where it decides something, graded where the agent worked: a pass, and
    a grader that broke, since an agent that breaks it would else leave the score as infrastructure's doing."""
    shared = any(step.grading.mode == "shared" for step, _ in verdicts)
    decides = any(verdict.passed or verdict.error_kind for _, verdict in verdicts)
    if not (shared and decides) or attempt.assignment.agent.kind in TRUSTED_AGENTS:
        return
    own = [folder for folder in (task.workdir, "/app", "/workspace") if folder and folder != "/"]
    changes = ((change.path, change.kind) for change in sandbox.changed_paths())
    flags, suspect = inspect_changes(changes, own)
    attempt.flags += flags
    attempt.suspect |= suspect


def conclude(
    attempt: Attempt,
    task: Task,
    results: list[AgentResult],
    verdicts: list[tuple[Step, Verdict]],
    grader_kills: int,
) -> None:
    attempt.agent_result = merge_results(results)
    attempt.flags += attempt.agent_result.flags
    verdict = combine_steps(task, [v for _, v in verdicts]) if verdicts else None
    attempt.verdict = verdict
    if verdict is not None:
        attempt.flags += verdict.flags
        attempt.suspect |= "canary_passed" in verdict.flags
    attempt.ending = classify(
        Observed(
            agent_ending=attempt.agent_result.ending,
            agent_message=attempt.agent_result.message,
            passed=verdict.passed if verdict else None,
            grader_error=verdict.error_kind if verdict else None,
            grader_message=(verdict.error_message or "") if verdict else "",
            oom_kills_agent=max(0, (attempt.counters.oom_kills or 0) - _shared_kills(verdicts, grader_kills)),
            oom_kills_grader=grader_kills,
            pids_hits=attempt.counters.pids_limit_hits or 0,
        )
    )


def _shared_kills(verdicts: list[tuple[Step, Verdict]], grader_kills: int) -> int:
    """Kills that happened while grading but are counted by the agent's own container."""
    return grader_kills if any(step.grading.mode == "shared" for step, _ in verdicts) else 0


def merge_results(results: list[AgentResult]) -> AgentResult:
    """The endings of all steps as one: the worst one stands, usage adds up. An empty list is "finished"."""
    if not results:
        return AgentResult("finished")
    if len(results) == 1:
        return results[0]
    order = ("model_error", "budget", "error", "timeout", "limit", "finished")
    worst = min(results, key=lambda r: order.index(r.ending))
    return replace(worst, usage=add_usage([r.usage for r in results]))


def add_usage(usages: list[ModelUsage]) -> ModelUsage:
    """Sums, where None stays None only if no part is known; names come from the last."""

    def total(name: str) -> Any:
        values = [getattr(u, name) for u in usages if getattr(u, name) is not None]
        return sum(values) if values else None

    counted = (
        "tokens_in",
        "tokens_out",
        "tokens_cache_read",
        "tokens_cache_written",
        "cost_usd",
        "turns",
        "calls",
        "api_retries",
        "rate_limited_s",
        "model_wait_s",
    )
    return replace(usages[-1], **{name: total(name) for name in counted})
