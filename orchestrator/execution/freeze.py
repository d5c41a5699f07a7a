"""A sweep's config and suite -> the frozen plan, its jobs, and what each attempt is given. No Ray, no engine."""

import fnmatch
import hashlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from orchestrator.agents.settings import AgentSettings
from orchestrator.config import ConfigError, ResourceSetting, SweepConfig
from orchestrator.core.dispatch import Job, Shape
from orchestrator.core.plan import Arm, Plan, TrialSpec, attempt_id, difference, trials
from orchestrator.core.resolve import promised, resolve, resolve_beside
from orchestrator.execution.assignment import Assignment, SweepFacts
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import TrialState, find_sweep
from sandboxes.resources import ResourceSpec
from suites.task import Asked, Suite, Task

VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A plan with what is needed to carry it out. `notices`: what a person should know before it starts."""

    plan: Plan
    config: SweepConfig
    suite: Suite
    tasks: Mapping[str, Task]
    agents: Mapping[str, AgentSettings]
    resources: Mapping[str, ResourceSetting]
    notices: tuple[str, ...] = ()


def select_tasks(suite: Suite, config: SweepConfig) -> dict[str, Task]:
    """The tasks a sweep asks for, by name. Raises ConfigError when none is left."""
    chosen = config.suite
    kept = {}
    for task in suite.tasks:
        if chosen.include and not any(fnmatch.fnmatchcase(task.name, p) for p in chosen.include):
            continue
        if any(fnmatch.fnmatchcase(task.name, p) for p in chosen.exclude):
            continue
        if chosen.tags and not set(chosen.tags) & set(task.tags):
            continue
        kept[task.name] = task
    if not kept:
        names = ", ".join(sorted(t.name for t in suite.tasks)[:5]) or "none"
        raise ConfigError(
            f"suite {chosen.path}: include, exclude and tags leave no task of {len(suite.tasks)} (such as {names});"
            " change them, or see `passhat suite check`"
        )
    return kept


def freeze(config: SweepConfig, suite: Suite, root: Root, now: datetime) -> Frozen:
    """Decide the plan: a new one, or the one that is there, extended where that is sound.

    Raises ConfigError with the differences where a started sweep would be changed.
    """
    tasks = select_tasks(suite, config)
    agents = {agent.name: agent for agent in config.agents}
    resources = {setting.name: setting for setting in config.resources}
    arms = tuple(Arm(a, r, lane) for a in agents for r in resources for lane in config.lanes)
    fresh = Plan(
        sweep_id=f"{config.name}-{hashlib.sha256(os.urandom(16)).hexdigest()[:8]}",
        name=config.name,
        created_at=now.isoformat(),
        seed=config.seed,
        order=config.order,
        repeats=config.repeats,
        waves=config.schedule.waves,
        suite=suite.name,
        suite_version=suite.version,
        suite_digest=suite.digest,
        arms=arms,
        task_digests={name: task.digest for name, task in tasks.items()},
        agent_digests={name: agent.digest() for name, agent in agents.items()},
        durations_s={n: t.steps[0].agent_timeout_s or config.default_agent_timeout_s for n, t in tasks.items()},
        config=config.model_dump(mode="json"),
        passhat_version=VERSION,
        horizon=config.horizon,
    )
    notices = [f"task {name} is left out: {reason}" for name, reason in suite.refused]
    old = find_sweep(root, config.name)
    if old is not None:
        refused, extends = difference(old, fresh)
        if refused:
            raise ConfigError(
                f"sweep {config.name!r} was started in {root.location} with another plan: {some(refused)}."
                " Give the sweep a new name, or put the old settings back"
            )
        notices += [f"extends the sweep: {line}" for line in extends]
        fresh = replace(fresh, sweep_id=old.sweep_id, created_at=old.created_at, revision=old.revision + bool(extends))
    return Frozen(fresh, config, suite, tasks, agents, resources, tuple(notices))


def some(sentences: list[str], most: int = 4) -> str:
    """The first few, and how many more there are."""
    rest = len(sentences) - most
    return "; ".join(sentences[:most]) + (f"; and {rest} more differences" if rest > 0 else "")


def facts(frozen: Frozen) -> SweepFacts:
    """What stands on every row of the sweep."""
    plan, config = frozen.plan, frozen.config
    columns: dict[str, object] = {
        "sweep": plan.sweep_id,
        "sweep_name": plan.name,
        "suite": plan.suite,
        "suite_version": plan.suite_version,
        "suite_digest": plan.suite_digest,
        "plan_seed": plan.seed,
        "plan_order": plan.order,
        "retry_max": config.retry.max,
        "retry_causes": sorted(config.retry.causes),
        "retry_backoff_s": config.retry.backoff_s,
        "timeout_multiplier": config.timeout_multiplier,
    }
    return SweepFacts(
        plan.sweep_id, columns, config.timeout_multiplier, config.default_agent_timeout_s, config.keep_artifacts
    )


def shape_of(spec: ResourceSpec) -> Shape:
    """What Ray admits a trial by: its promise, memory rounded up to a quarter (above 2 GiB a whole) GiB.

    A worker serves one shape, and starting one costs seconds; rounding lets trials that differ by little
    share workers, at the price of admitting a little less at once. The container's limits are not rounded.
    """
    step = 256 if spec.memory_mb <= 2048 else 1024
    return Shape(spec.cpus, math.ceil(spec.memory_mb / step) * step, spec.gpus)


class Assigner:
    """Makes assignments of jobs. `late_waves`: waves that run after their time has passed."""

    def __init__(
        self,
        frozen: Frozen,
        now: Callable[[], datetime],
        late_waves: frozenset[int] = frozenset(),
        changed: bool = False,
    ) -> None:
        self._frozen, self._now, self._late, self._changed = frozen, now, late_waves, changed

    def spec(self, trial: TrialSpec) -> ResourceSpec:
        task = self._frozen.tasks[trial.task]
        return resolve(task.asked, self._frozen.resources[trial.arm.resources])

    def promise(self, trial: TrialSpec) -> ResourceSpec:
        """What the whole trial is admitted by, its sidecars included."""
        task = self._frozen.tasks[trial.task]
        return promised(self.spec(trial), self._beside(task, trial).values())

    def _beside(self, task: Task, trial: TrialSpec) -> dict[str, ResourceSpec]:
        setting = self._frozen.resources[trial.arm.resources]
        return {service.name: resolve_beside(service.asked, setting) for service in task.services}

    def _graders(self, task: Task, trial: TrialSpec) -> dict[str, ResourceSpec]:
        """Separate graders that ask for something of their own; what they leave open is as the agent's."""
        setting = self._frozen.resources[trial.arm.resources]
        found = {}
        for step in task.steps:
            asked = step.grading.asked
            if asked is not None and asked != Asked():
                cpus, memory = asked.cpus or task.asked.cpus, asked.memory_mb or task.asked.memory_mb
                whole = replace(asked, cpus=cpus, memory_mb=memory)
                found[step.name] = resolve_beside(whole, setting)
        return found

    def __call__(self, job: Job) -> Assignment:
        frozen, trial = self._frozen, job.trial
        task, agent = frozen.tasks[trial.task], frozen.agents[trial.arm.agent]
        setting = frozen.resources[trial.arm.resources]
        columns: dict[str, object] = {
            "task_digest": task.digest,
            "task_cluster": task.cluster,
            "task_difficulty": task.difficulty,
            "agent_kind": agent.kind,
            "agent_digest": frozen.plan.agent_digests[agent.name],
            "model": agent.model_name,
            "headroom": headroom_word(setting),
            "queued_at": self._now().isoformat(),
            "wave_late": trial.wave in self._late,
            "environment_changed": self._changed,
        }
        return Assignment(
            job=job,
            attempt_id=attempt_id(trial.key, job.attempt),
            task=task,
            agent=agent,
            resources=self.spec(trial),
            runtime=setting.runtime,
            seed=int(trial.key[:8], 16),
            columns=columns,
            sidecars=self._beside(task, trial),
            graders=self._graders(task, trial),
        )

    def jobs(self, states: Mapping[str, TrialState], waves: Iterable[int]) -> list[Job]:
        """The plan less what is settled: resume is nothing else."""
        found = []
        for wave in waves:
            for trial in trials(self._frozen.plan, wave):
                state = states.get(trial.key)
                if state is not None and state.settled:
                    continue
                attempt, failures = (state.next_attempt, state.failures) if state else (0, 0)
                found.append(Job(trial, shape_of(self.promise(trial)), attempt, failures))
        return found


def headroom_word(setting: ResourceSetting) -> str:
    if setting.memory_limit_mb is not None or setting.cpus_limit is not None:
        return "absolute"
    return setting.headroom if isinstance(setting.headroom, str) else f"{setting.headroom:g}"


def suite_path(config: SweepConfig) -> Path:
    return Path(config.suite.path)
