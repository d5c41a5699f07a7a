"""One attempt, start to finish: image, container, agent, the agent's end, grading, counters, removal.

Guarantees. The agent is dead, and that was checked, before anything of the grader reaches a container. The
container is removed whatever happens. An ending is a row, never an exception: what the place did wrong is
SANDBOX_ERROR or IMAGE_ERROR, and anything unexpected is SANDBOX_ERROR of kind "internal" with its text.
Order of the phases and their names: cores_wait, image, start_wait, create, healthcheck, setup, agent, kill,
artifacts, grade, remove; each has a column `<phase>_s` and failures name the phase they happened in.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.agents.base import Agent, AgentContext, AgentResult, ModelEndpoint, with_layers
from orchestrator.core.ending import Ending
from orchestrator.core.status import Status
from orchestrator.execution.assignment import Assignment, SweepFacts
from orchestrator.execution.attempt import Attempt, Place
from orchestrator.execution.conclusion import check_changes, conclude
from orchestrator.execution.evidence import Recorder, pack_artifacts
from orchestrator.execution.healthcheck import HealthcheckFailed, wait_until_healthy
from orchestrator.execution.phases import Phases
from orchestrator.execution.steps import SETUP_SCRIPT_S, copy_workdir
from orchestrator.models.usage import combine
from sandboxes.base import (
    FileEntry,
    ImageError,
    ImageSource,
    NetworkSpec,
    Sandbox,
    SandboxError,
    SandboxRequest,
)
from sandboxes.labels import ATTEMPT, SWEEP
from sandboxes.resources import Placement
from sandboxes.snapshot import ImageSnapshot
from suites.artifacts import collect, put_back
from suites.graders import grade
from suites.grading import Verdict
from suites.task import Step, Task

SAFETY_S = 120.0
LOG_FOLDERS = ("/logs/verifier", "/logs/agent", "/logs/artifacts")


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
        with contextlib.ExitStack() as turn:
            with self.attempt.phases("start_wait"):
                turn.enter_context(self.place.start_turn())
            with self.attempt.phases(phase):
                return self.place.provider.create(request)


def _longest_s(task: Task, facts: SweepFacts) -> float:
    """The sum of everything that has a timeout: a container older than that has no owner."""
    total = SAFETY_S + task.setup_timeout_s
    for step in task.steps:
        total += (step.agent_timeout_s or facts.default_agent_timeout_s) * facts.timeout_multiplier
        total += step.grading.timeout_s * facts.timeout_multiplier
        total += sum(hook.timeout_s for hook in step.grading.collect)
        total += SETUP_SCRIPT_S if step.workdir_dir is not None else 0.0
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
    check_changes(attempt, task, sandbox, verdicts)
    conclude(attempt, task, results, verdicts, grader_kills)


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
            return grade(
                sandbox,
                task,
                step,
                grading,
                place.monotonic,
                said=attempt.recorder.said(),
                judge=place.judge(assignment),
            ), 0
    with phases("grade"):
        assert attempt.image is not None
        image = place.provider.ensure_image(grading.image or _plain(task.image))
        judge_sandbox = make(image, grading.network, "grade")
        try:
            judge_sandbox.put(FileEntry(path, mode=0o777) for path in LOG_FOLDERS)
            put_back(judge_sandbox, taken)
            verdict = grade(
                judge_sandbox,
                task,
                step,
                grading,
                place.monotonic,
                said=attempt.recorder.said(),
                judge=place.judge(assignment),
            )
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
