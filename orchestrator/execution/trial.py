"""One attempt, start to finish: image, container, agent, the agent's end, grading, counters, removal.

Guarantees. The agent is dead, and that was checked, before anything of the grader reaches a container. The
container is removed whatever happens. An ending is a row, never an exception: what the place did wrong is
SANDBOX_ERROR or IMAGE_ERROR, and anything unexpected is SANDBOX_ERROR of kind "internal" with its text.
Order of the phases and their names: cores_wait, image, network, start_wait, create, sidecars, healthcheck,
setup, agent, kill, artifacts, grade, remove; each has a column `<phase>_s` and failures name the phase they happened in.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from orchestrator.agents.base import Agent, AgentContext, AgentResult, ModelEndpoint, with_layers
from orchestrator.core.ending import Ending
from orchestrator.core.resolve import cores_beside
from orchestrator.core.status import Status
from orchestrator.execution.assignment import Assignment, SweepFacts
from orchestrator.execution.attempt import Attempt, Place
from orchestrator.execution.conclusion import check_changes, conclude
from orchestrator.execution.evidence import Recorder, pack_artifacts
from orchestrator.execution.healthcheck import HealthcheckFailed, wait_until_healthy
from orchestrator.execution.making import SandboxMaker
from orchestrator.execution.phases import Phases
from orchestrator.execution.sidecars import (
    Ground,
    SidecarFailed,
    collect_all,
    main_env,
    needs_network,
    open_network,
    start_sidecars,
)
from orchestrator.execution.steps import copy_workdir
from orchestrator.models.usage import combine
from sandboxes.base import (
    FileEntry,
    ImageError,
    ImageSource,
    NetworkSpec,
    Sandbox,
    SandboxError,
)
from sandboxes.private_network import PrivateNetwork
from suites.artifacts import put_back
from suites.graders import grade
from suites.grading import Verdict
from suites.task import Step, Task

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
    except SidecarFailed as error:
        attempt.ending = Ending(Status.SANDBOX_ERROR, phases.current, "sidecar", str(error))
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
    with phases("image"):
        source = with_layers(task.image, agent.image_layers())
        attempt.image = place.provider.ensure_image(source)
    with contextlib.ExitStack() as held:
        with phases("cores_wait"):
            cores = held.enter_context(_cores(assignment, place)) if spec.pinned else ()
        own, beside = cores[: round(spec.cpus)], cores[round(spec.cpus) :]
        make = SandboxMaker(attempt, facts, place, own)
        private = None
        if needs_network(task):
            private = open_network(attempt, place, held, make.labels, make.deadline_s, task.network)
        sandbox = make(
            attempt.image,
            _network(assignment, agent, place, private),
            "create",
            main_env(task, private, place.gateway_host),
        )
        held.enter_context(_removed(phases, sandbox))
        attempt.effective = sandbox.effective
        services = start_sidecars(attempt, place, private, beside, make.labels, make.deadline_s, held)
        _work(attempt, facts, agent, place, Ground(sandbox, services), make)


def _cores(assignment: Assignment, place: Place) -> contextlib.AbstractContextManager[tuple[int, ...]]:
    """Exclusive cores: the agent's first, then those that its sidecars share."""
    spec = assignment.resources
    return place.take_cores(round(spec.cpus + cores_beside(spec, assignment.sidecars.values())))


@contextlib.contextmanager
def _removed(phases: Phases, sandbox: Sandbox) -> Iterator[None]:
    try:
        yield
    finally:
        with phases("remove"):
            sandbox.remove()


def _network(assignment: Assignment, agent: Agent, place: Place, private: PrivateNetwork | None) -> NetworkSpec:
    """The task's network; an agent that asks a model from inside gets a way to the gateway and nothing else."""
    task = assignment.task
    inside = agent.needs_model and assignment.agent.kind == "command"
    closed = place.closed_network if inside and task.network.mode != "public" else None
    if private is not None:
        spec = private.joined(task.network, task.main_aliases or (task.main_service,))
        return spec if closed is None else replace(spec, also=(*spec.also, closed))
    if closed is not None:
        return replace(task.network, network_name=closed)
    return task.network


def _work(attempt: Attempt, facts: SweepFacts, agent: Agent, place: Place, ground: Ground, make: SandboxMaker) -> None:
    task, phases, sandbox = attempt.assignment.task, attempt.phases, ground.main
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
        ground.services.require()
        kills_before = sandbox.counters().oom_kills or 0
        if result.ending in ("model_error", "budget"):
            break
        verdict, kills = _grade_step(attempt, facts, place, ground, make, step)
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
    attempt: Attempt, facts: SweepFacts, place: Place, ground: Ground, make: SandboxMaker, step: Step
) -> tuple[Verdict, int]:
    """The verdict, and the OOM kills counted in a separate grading container."""
    assignment, phases, sandbox = attempt.assignment, attempt.phases, ground.main
    task, grading = assignment.task, step.grading
    attempt.grading_mode = grading.mode
    grading = replace(grading, timeout_s=grading.timeout_s * facts.timeout_multiplier)
    with phases("artifacts"):
        taken = collect_all(ground, task, step, grading)
        if facts.keep_artifacts and taken.entries:
            attempt.artifacts = pack_artifacts(taken.entries)
        attempt.flags += taken.flags
    told = partial(grade, monotonic=place.monotonic, said=attempt.recorder.said(), judge=place.judge(assignment))
    if grading.mode == "shared":
        with phases("grade"):
            return told(sandbox, task, step, grading), 0
    with contextlib.ExitStack() as held, phases("grade"):
        image = place.provider.ensure_image(grading.image or _plain(task.image))
        network, env = grading.network, dict(task.env)
        if network.mode == "allowlist":
            private = open_network(attempt, place, held, make.labels, make.deadline_s, network)
            network, env = private.joined(network, ("grader",)), {**private.env(("grader",)), **env}
            grading = replace(grading, env={**private.env(("grader",)), **grading.env})
        judge_sandbox = make(image, network, "grade", env, assignment.graders.get(step.name))
        held.callback(judge_sandbox.remove)
        judge_sandbox.put(FileEntry(path, mode=0o777) for path in LOG_FOLDERS)
        put_back(judge_sandbox, taken)
        return told(judge_sandbox, task, step, grading), judge_sandbox.counters().oom_kills or 0


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
