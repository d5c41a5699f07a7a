"""One attempt, start to finish: image, container, agent, the agent's end, grading, counters, removal.

Guarantees. The agent is dead, and that was checked, before anything of the grader reaches a container. The
container is removed whatever happens. An ending is a row, never an exception: what the place did wrong is
SANDBOX_ERROR or IMAGE_ERROR, and anything unexpected is SANDBOX_ERROR of kind "internal" with its text.
Order of the phases and their names: cores_wait, image, create, healthcheck, setup, agent, kill, artifacts,
grade, remove; each has a column `<phase>_s` and failures name the phase they happened in.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from orchestrator.agents.base import Agent, AgentContext, AgentResult, ModelEndpoint, ModelUsage, with_layers
from orchestrator.core.ending import Ending, Observed, classify
from orchestrator.core.status import Status
from orchestrator.core.tampering import inspect_changes
from orchestrator.execution.assignment import Assignment, SweepFacts
from orchestrator.execution.evidence import Recorder, pack_artifacts
from orchestrator.execution.healthcheck import HealthcheckFailed, wait_until_healthy
from orchestrator.execution.phases import Phases
from orchestrator.execution.steps import copy_workdir
from orchestrator.models.usage import combine
from sandboxes.base import (
    FileEntry,
    ImageError,
    ImageSource,
    NetworkSpec,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
)
from sandboxes.labels import ATTEMPT, SWEEP
from sandboxes.resources import Counters, EffectiveResources, Placement
from sandboxes.snapshot import HostReadings, ImageSnapshot
from suites.artifacts import collect, put_back
from suites.graders import combine_steps, grade
from suites.grading import Verdict
from suites.task import Step, Task

SAFETY_S = 120.0
LOG_FOLDERS = ("/logs/verifier", "/logs/agent", "/logs/artifacts")
TRUSTED_AGENTS = frozenset({"oracle", "nop"})


@dataclass(frozen=True, slots=True)
class Place:
    """What a worker has on its node: a provider, its cores, readings, clocks, and a way to the model."""

    provider: SandboxProvider
    take_cores: Callable[[int], AbstractContextManager[tuple[int, ...]]]
    readings: Callable[[], HostReadings]
    node: str
    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], None] = time.sleep
    endpoint: Callable[[Assignment], ModelEndpoint | None] = lambda _: None
    usage: Callable[[str], ModelUsage | None] = lambda _: None
    closed_network: str | None = None


@dataclass(slots=True)
class Attempt:
    """Everything that becomes known while one attempt runs; read by orchestrator.execution.rows."""

    assignment: Assignment
    started_at: datetime
    phases: Phases
    recorder: Recorder
    finished_at: datetime | None = None
    ending: Ending = field(default_factory=lambda: Ending(Status.SANDBOX_ERROR, None, "internal", "did not start"))
    agent_result: AgentResult = field(default_factory=lambda: AgentResult("finished"))
    verdict: Verdict | None = None
    grading_mode: str | None = None
    flags: list[str] = field(default_factory=list)
    suspect: bool = False
    image: ImageSnapshot | None = None
    effective: EffectiveResources | None = None
    counters: Counters = field(default_factory=Counters)
    before: HostReadings = field(default_factory=HostReadings)
    after: HostReadings = field(default_factory=HostReadings)
    artifacts: bytes | None = None


def run_attempt(assignment: Assignment, facts: SweepFacts, agent: Agent, place: Place) -> Attempt:
    """Make one attempt. Returns in every case but KeyboardInterrupt and SystemExit."""
    phases = Phases(place.monotonic)
    attempt = Attempt(assignment, place.now(), phases, Recorder(place.now))
    try:
        attempt.before = place.readings()
        _run(attempt, facts, agent, place)
    except ImageError as error:
        attempt.ending = Ending(Status.IMAGE_ERROR, phases.current, "image", str(error))
    except HealthcheckFailed as error:
        attempt.ending = Ending(Status.SANDBOX_ERROR, "healthcheck", "healthcheck", str(error))
    except SandboxError as error:
        attempt.ending = Ending(Status.SANDBOX_ERROR, phases.current, type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - an attempt ends as a row whatever happens
        text = f"{type(error).__name__}: {error}"
        attempt.ending = Ending(Status.SANDBOX_ERROR, phases.current, "internal", text)
    _take_usage(attempt, agent, place)
    with contextlib.suppress(OSError, SandboxError):
        attempt.after = place.readings()
    attempt.finished_at = place.now()
    return attempt


def _take_usage(attempt: Attempt, agent: Agent, place: Place) -> None:
    """What the gateway metered stands before what the agent says, also when the attempt failed on the way."""
    if not agent.needs_model:
        return
    metered = place.usage(attempt.assignment.attempt_id)
    if metered is None:
        return
    result = attempt.agent_result
    attempt.agent_result = replace(result, usage=combine(result.usage, metered))


def _run(attempt: Attempt, facts: SweepFacts, agent: Agent, place: Place) -> None:
    assignment, phases = attempt.assignment, attempt.phases
    task, spec = assignment.task, assignment.resources
    if task.compose_file is not None:
        raise SandboxError(f"task {task.name}: compose environments cannot be run; use a task with one container")
    with phases("image"):
        source = with_layers(task.image, agent.image_layers())
        attempt.image = place.provider.ensure_image(source)
    with contextlib.ExitStack() as held:
        with phases("cores_wait"):
            cores = held.enter_context(place.take_cores(round(spec.cpus))) if spec.pinned else ()
        make = _SandboxMaker(attempt, facts, place, cores)
        sandbox = make(attempt.image, _network(assignment, agent, place), "create")
        try:
            attempt.effective = sandbox.effective
            _work(attempt, facts, agent, place, sandbox, make)
        finally:
            with phases("remove"):
                sandbox.remove()


def _network(assignment: Assignment, agent: Agent, place: Place) -> NetworkSpec:
    """The task's network; an agent that asks a model from inside gets a way to the gateway and nothing else."""
    task = assignment.task
    inside = agent.needs_model and assignment.agent.kind == "command"
    if inside and task.network.mode == "none" and place.closed_network is not None:
        return replace(task.network, network_name=place.closed_network)
    return task.network


@dataclass(slots=True)
class _SandboxMaker:
    """Makes containers of one attempt, all with the same resources, cores and labels."""

    attempt: Attempt
    facts: SweepFacts
    place: Place
    cores: tuple[int, ...]

    def __call__(self, image: ImageSnapshot, network: NetworkSpec, phase: str) -> Sandbox:
        assignment = self.attempt.assignment
        task = assignment.task
        limit_s = _longest_s(task, self.facts)
        request = SandboxRequest(
            image=image,
            resources=assignment.resources,
            placement=Placement(self.cores),
            labels={SWEEP: self.facts.sweep_id, ATTEMPT: assignment.attempt_id},
            deadline_s=limit_s,
            network=network,
            env=task.env,
            capabilities=task.capabilities,
            read_only=task.read_only,
            runtime=assignment.runtime,
        )
        with self.attempt.phases(phase):
            return self.place.provider.create(request)


def _longest_s(task: Task, facts: SweepFacts) -> float:
    """The sum of everything that has a timeout: a container older than that has no owner."""
    total = SAFETY_S + task.setup_timeout_s
    for step in task.steps:
        total += (step.agent_timeout_s or facts.default_agent_timeout_s) * facts.timeout_multiplier
        total += step.grading.timeout_s * facts.timeout_multiplier
        total += sum(hook.timeout_s for hook in step.grading.collect)
        check = step.healthcheck or task.healthcheck
        if check is not None:
            total += check.start_period_s + (check.interval_s + check.timeout_s) * (check.retries + 1)
    return total


def _work(
    attempt: Attempt, facts: SweepFacts, agent: Agent, place: Place, sandbox: Sandbox, make: _SandboxMaker
) -> None:
    task, phases = attempt.assignment.task, attempt.phases
    sandbox.put(FileEntry(path, mode=0o777) for path in LOG_FOLDERS)
    endpoint = place.endpoint(attempt.assignment) if agent.needs_model else None
    verdicts: list[tuple[Step, Verdict]] = []
    results: list[AgentResult] = []
    grader_kills = 0
    for number, step in enumerate(task.steps):
        _prepare_step(attempt, task, step, place, sandbox)
        context = _context(attempt, facts, agent, place, step, endpoint)
        if number == 0:
            with phases("setup"):
                agent.setup(sandbox, context)
        with phases("agent"):
            result = agent.run(sandbox, context)
        results.append(result)
        attempt.recorder.note("agent_ended", step=step.name, ending=result.ending, message=result.message)
        with phases("kill"):
            sandbox.kill_processes()
        kills_before = sandbox.counters().oom_kills or 0
        if result.ending in ("model_error", "budget"):
            break
        verdict, kills = _grade_step(attempt, facts, place, sandbox, make, step)
        grader_kills += kills if step.grading.mode == "separate" else 0
        verdicts.append((step, verdict))
        if step.grading.mode == "shared":
            grader_kills += max(0, (sandbox.counters().oom_kills or 0) - kills_before)
        if verdict.error_kind or not _reached(step, verdict):
            break
    attempt.counters = sandbox.counters()
    _check_changes(attempt, task, sandbox, verdicts)
    _conclude(attempt, task, results, verdicts, grader_kills)


def _prepare_step(attempt: Attempt, task: Task, step: Step, place: Place, sandbox: Sandbox) -> None:
    if step.workdir_dir is not None:
        copy_workdir(sandbox, step, task.workdir)
    check = step.healthcheck or task.healthcheck
    if check is not None:
        with attempt.phases("healthcheck"):
            wait_until_healthy(sandbox, check, task.workdir, place.monotonic, place.sleep)


def _context(
    attempt: Attempt, facts: SweepFacts, agent: Agent, place: Place, step: Step, endpoint: ModelEndpoint | None
) -> AgentContext:
    assignment = attempt.assignment
    task = assignment.task
    return AgentContext(
        instruction=step.instruction,
        attempt_id=assignment.attempt_id,
        timeout_s=(step.agent_timeout_s or facts.default_agent_timeout_s) * facts.timeout_multiplier,
        user=step.agent_user,
        workdir=task.workdir,
        env={},
        record=attempt.recorder.record,
        monotonic=place.monotonic,
        sleep=place.sleep,
        endpoint=endpoint,
        solution_dir=step.solution_dir if agent.needs_solution else None,
        solution_env=task.solution_env if agent.needs_solution else {},
        simulated_user=task.simulated_user,
        seed=assignment.seed,
    )


def _grade_step(
    attempt: Attempt, facts: SweepFacts, place: Place, sandbox: Sandbox, make: _SandboxMaker, step: Step
) -> tuple[Verdict, int]:
    """The verdict, and the OOM kills counted in a separate grading container."""
    assignment, phases = attempt.assignment, attempt.phases
    task, grading = assignment.task, step.grading
    attempt.grading_mode = grading.mode
    grading = replace(grading, timeout_s=grading.timeout_s * facts.timeout_multiplier)
    with phases("artifacts"):
        taken = collect(sandbox, step, grading)
        if facts.keep_artifacts and taken.entries:
            attempt.artifacts = pack_artifacts(taken.entries)
        attempt.flags += taken.flags
    if grading.mode == "shared":
        with phases("grade"):
            return grade(sandbox, task, step, grading, place.monotonic, said=attempt.recorder.said()), 0
    with phases("grade"):
        assert attempt.image is not None
        image = place.provider.ensure_image(grading.image or _plain(task.image))
        judge_sandbox = make(image, grading.network, "grade")
        try:
            judge_sandbox.put(FileEntry(path, mode=0o777) for path in LOG_FOLDERS)
            put_back(judge_sandbox, taken)
            verdict = grade(judge_sandbox, task, step, grading, place.monotonic, said=attempt.recorder.said())
            return verdict, judge_sandbox.counters().oom_kills or 0
        finally:
            judge_sandbox.remove()


def _plain(source: ImageSource) -> ImageSource:
    """The task's image without the agent's installation."""
    return replace(source, layers=())


def _reached(step: Step, verdict: Verdict) -> bool:
    """Whether the next step may start."""
    wanted = step.min_reward
    if wanted is None:
        return True
    if isinstance(wanted, Mapping):
        return all(verdict.rewards.get(key, 0.0) >= least for key, least in wanted.items())
    return (verdict.score or 0.0) >= wanted


def _check_changes(attempt: Attempt, task: Task, sandbox: Sandbox, verdicts: list[tuple[Step, Verdict]]) -> None:
    """Ask the engine for the diff only where it decides something: a pass, graded where the agent worked."""
    shared = any(step.grading.mode == "shared" for step, _ in verdicts)
    passed = any(verdict.passed for _, verdict in verdicts)
    if not (shared and passed) or attempt.assignment.agent.kind in TRUSTED_AGENTS:
        return
    own = [folder for folder in (task.workdir, "/app", "/workspace") if folder and folder != "/"]
    changes = ((change.path, change.kind) for change in sandbox.changed_paths())
    flags, suspect = inspect_changes(changes, own)
    attempt.flags += flags
    attempt.suspect |= suspect


def _conclude(
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
