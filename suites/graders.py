"""Grading one outcome: the tests run where they must, and each declared grader says its verdict.

The caller has chosen the container (the agent's own, or a fresh one with only the artifacts) and has
ended the agent. For a task that is graded by its tests this takes one put, one exec and one get.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import BaseModel

from sandboxes.base import Sandbox
from suites import grader_settings as settings
from suites.answers import judge_answer
from suites.evidence import Evidence, EvidenceError, fetch_logs, run_tests
from suites.grading import Verdict, no_verdict
from suites.judging import Judge, JudgeQuestion
from suites.reports import (
    MAX_REPORT_BYTES,
    ReportError,
    judge_pytest,
    judge_report,
    parse_pytest_summary,
    parse_report,
)
from suites.rewards import (
    MAX_REWARD_BYTES,
    RewardError,
    combine_step_verdicts,
    judge_rewards,
    parse_reward_json,
    parse_reward_text,
    sum_or_none,
)
from suites.states import judge_state
from suites.task import GraderSpec, Grading, Step, Task

RUNS_TESTS = ("reward", "tests", "pytest")
MAX_ANSWER_BYTES = 1_000_000
MAX_PRINTED_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """What a single grader may look at."""

    evidence: Evidence
    task: Task
    step: Step
    grading: Grading
    said: str
    judge: Judge | None


def grade(
    sandbox: Sandbox,
    task: Task,
    step: Step,
    grading: Grading,
    monotonic: Callable[[], float],
    said: str = "",
    judge: Judge | None = None,
) -> Verdict:
    """Judge the outcome in `sandbox`; the agent must be dead.

    `said` is what the agent told its user; `judge` asks a model. No reward, or one that cannot be read,
    is a verdict with `error_kind`, never 0; a test run past its timeout has `error_kind` "timeout".
    Raises SandboxError when the place fails.
    """
    deadline = monotonic() + grading.timeout_s
    kinds = {spec.kind for spec in grading.graders}
    evidence = Evidence(sandbox)
    if kinds.intersection(RUNS_TESTS):
        result = run_tests(sandbox, task, grading, grading.timeout_s, open_logs="tests" not in kinds)
        sandbox.kill_processes()
        evidence = fetch_logs(sandbox)
        if result.timed_out:
            message = f"the tests did not end within {grading.timeout_s:g} s"
            return no_verdict("+".join(sorted(kinds)), "timeout", message, evidence.printed())
    case = Case(evidence, task, step, grading, said, judge)
    verdicts = []
    for spec in grading.graders:
        if monotonic() > deadline:
            return no_verdict(spec.kind, "timeout", f"grading took more than {grading.timeout_s:g} s")
        verdicts.append(_judge_one(case, spec))
    return combine_graders(verdicts)


def combine_graders(verdicts: Sequence[Verdict]) -> Verdict:
    """Passed when all pass; the score is the least one. One that could not judge leaves no verdict."""
    if len(verdicts) == 1:
        return verdicts[0]
    broken = next((verdict for verdict in verdicts if verdict.error_kind is not None), None)
    if broken is not None:
        return broken
    rewards = {}
    for index, verdict in enumerate(verdicts):
        for key, value in verdict.rewards.items():
            name = f"{verdict.grader}.{key}"
            rewards[name if name not in rewards else f"{verdict.grader}{index}.{key}"] = value
    passed = all(verdict.passed for verdict in verdicts)
    judged = next((verdict for verdict in verdicts if verdict.judge_version is not None), None)
    return Verdict(
        passed,
        min(verdict.score or 0.0 for verdict in verdicts),
        {**rewards, "reward": float(passed)},
        grader="+".join(verdict.grader for verdict in verdicts),
        judge_version=judged.judge_version if judged else None,
        judge_verdict=judged.judge_verdict if judged else None,
        flags=tuple(dict.fromkeys(flag for verdict in verdicts for flag in verdict.flags)),
        details="\n".join(verdict.details for verdict in verdicts if verdict.details),
        cost_usd=sum_or_none([verdict.cost_usd for verdict in verdicts]),
    )


def combine_steps(task: Task, verdicts: Sequence[Verdict]) -> Verdict:
    """The trial's verdict from those of the steps that were reached, under the task's strategy."""
    if len(task.steps) == 1 and len(verdicts) == 1:
        return verdicts[0]
    return combine_step_verdicts(task.reward_strategy, verdicts, planned=len(task.steps))


def _judge_one(case: Case, spec: GraderSpec) -> Verdict:
    known: dict[str, tuple[type[BaseModel], object]] = {
        "reward": (settings.RewardSettings, _reward),
        "tests": (settings.TestsSettings, _tests),
        "pytest": (settings.PytestSettings, _pytest),
        "exact": (settings.ExactSettings, _exact),
        "state": (settings.StateSettings, _state),
        "judge": (settings.JudgeSettings, _model_judge),
    }
    if spec.kind not in known:
        return no_verdict(spec.kind, "unknown", f"there is no grader {spec.kind!r}: use one of {', '.join(known)}")
    model, function = known[spec.kind]
    parsed = model.model_validate({"kind": spec.kind, **spec.settings})
    return cast(Callable[[Case, object], Verdict], function)(case, parsed)


def _reward(case: Case, wanted: settings.RewardSettings) -> Verdict:
    evidence = case.evidence
    details = evidence.printed()
    name = "reward.json" if evidence.exists("/logs/verifier/reward.json") else "reward.txt"
    parse = parse_reward_json if name == "reward.json" else parse_reward_text
    try:
        rewards = parse(evidence.read(f"/logs/verifier/{name}", MAX_REWARD_BYTES))
    except EvidenceError as error:
        where = "there is no reward: the tests wrote neither reward.json nor reward.txt"
        return no_verdict("reward", error.kind, where if error.kind == "missing" else str(error), details)
    except RewardError as error:
        return no_verdict("reward", "malformed", str(error), details)
    return judge_rewards(rewards, wanted.keys, details)


def _tests(case: Case, wanted: settings.TestsSettings) -> Verdict:
    details = case.evidence.printed()
    try:
        report = parse_report(case.evidence.read(wanted.report, MAX_REPORT_BYTES))
    except EvidenceError as error:
        return no_verdict("tests", error.kind, str(error), details)
    except ReportError as error:
        return no_verdict("tests", "malformed", str(error), details)
    return judge_report(report, wanted.fail_to_pass, wanted.pass_to_pass, wanted.canary, wanted.count)


def _pytest(case: Case, _: settings.PytestSettings) -> Verdict:
    try:
        printed = case.evidence.read("/logs/verifier/test-stdout.txt", MAX_PRINTED_BYTES)
        return judge_pytest(parse_pytest_summary(printed.decode("utf-8", errors="replace")))
    except EvidenceError as error:
        return no_verdict("pytest", error.kind, str(error))
    except ReportError as error:
        return no_verdict("pytest", "malformed", str(error), case.evidence.printed())


def _exact(case: Case, wanted: settings.ExactSettings) -> Verdict:
    """A missing or unreadable answer is the agent's failure, so it fails and is no error."""
    try:
        answer = case.evidence.read(wanted.file, MAX_ANSWER_BYTES).decode("utf-8", errors="replace")
    except EvidenceError as error:
        flags = () if error.kind == "missing" else (f"answer_{error.kind}",)
        return Verdict(False, 0.0, {"reward": 0.0}, "exact", flags=flags, details=str(error))
    return judge_answer(answer, wanted)


def _state(case: Case, wanted: settings.StateSettings) -> Verdict:
    goal: bytes | None = None
    if wanted.goal is not None:
        tests = case.grading.tests_dir
        if tests is None or not (tests / wanted.goal).is_file():
            return no_verdict("state", "missing", f"the goal tests/{wanted.goal} is not in the task's folder")
        goal = (tests / wanted.goal).read_bytes()
    return judge_state(case.evidence, wanted, goal, case.said)


def _model_judge(case: Case, wanted: settings.JudgeSettings) -> Verdict:
    if case.judge is None:
        return no_verdict("judge", "no_judge", "this task is graded by a model, and no judge is configured")
    shown: Mapping[str, str | None] = {path: _shown(case.evidence, path) for path in wanted.files}
    question = JudgeQuestion(wanted.prompt, wanted.version, case.step.instruction, case.said, shown, wanted.model)
    answer = case.judge(question)
    if answer.passed is None:
        return no_verdict("judge", "unclear", "the judge's verdict could not be parsed", answer.text)
    reward = float(answer.passed)
    return Verdict(
        answer.passed,
        reward,
        {"reward": reward},
        grader="judge",
        judge_version=answer.version or wanted.version,
        judge_verdict=answer.verdict,
        details=answer.text,
        cost_usd=answer.cost_usd,
    )


def _shown(evidence: Evidence, path: str) -> str | None:
    try:
        return evidence.read(path, MAX_ANSWER_BYTES).decode("utf-8", errors="replace")
    except EvidenceError:
        return None
