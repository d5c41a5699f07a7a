"""What `passhat run` does around a sweep: what is due, Ray, signals, the log, and the exit code."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import structlog

from orchestrator.analysis.gate import Policy, judge, read_policy
from orchestrator.analysis.rows import RowsError
from orchestrator.config import ConfigError, SweepConfig, load_sweep
from orchestrator.core.waves import Due, due_now, due_times
from orchestrator.execution.cluster import Cluster
from orchestrator.execution.driver import Driver
from orchestrator.execution.freeze import Frozen, facts, freeze, suite_path
from orchestrator.execution.hands import Grip, Hands
from orchestrator.execution.hooks import tell_hooks
from orchestrator.execution.model_access import open_models
from orchestrator.execution.place import PlaceOptions, cluster_opener, environment_changes
from orchestrator.execution.progress import Progress
from orchestrator.execution.rhythm import rhythm_of
from orchestrator.execution.session import Ended, RunOptions, log_path, run_sweep
from orchestrator.execution.sweep_log import open_log
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import plan_path, waves_with_rows, write_plan
from suites.loading import load_suite

if TYPE_CHECKING:
    from orchestrator.execution.ray_workers import Outliving


AWAIT_NODES_S = 900.0
"""How long a sweep whose remaining trials fit no node of its cluster waits for one that an autoscaler may bring."""


class Listener(Protocol):
    """A display; see orchestrator.cli.display."""

    progress: Progress | None

    def hear(self, event: str, fields: Mapping[str, object]) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for. `gate`: the policy where it is not beside the sweep file; `outliving`:
    names of the workers of a controller that others take over from."""

    sweep: Path | None = None
    config: SweepConfig | None = None
    results: str | None = None
    address: str | None = None
    cpus: int | None = None
    concurrency: int | None = None
    wave: int | None = None
    wait: bool = False
    strict_environment: bool = False
    gate: Path | None = None
    place: PlaceOptions = field(default_factory=PlaceOptions)
    outliving: "Outliving | None" = None


def load(request: Request, now: datetime) -> tuple[Frozen, Root]:
    """Read and freeze, before anything starts. Raises ConfigError, TaskError, ResultsError."""
    config = request.config
    if config is None:
        assert request.sweep is not None
        config = load_sweep(request.sweep)
    config = load_config(request, config)
    root = Root(config.results)
    suite = load_suite(suite_path(config))
    return freeze(config, suite, root, now), root


def load_config(request: Request, config: SweepConfig) -> SweepConfig:
    """A sweep's config as the request wants it, its gate looked at. Raises ConfigError."""
    if request.results is not None:
        config = config.model_copy(update={"results": request.results})
    gate = gate_file(request, config)
    if gate is not None:
        if not gate.is_file():
            source = request.sweep or config.name
            raise ConfigError(f"{source}: gate = {config.gate!r} is not a file; write it, or leave gate out")
        _check_gate(read_policy(gate), config, str(gate))
    return config


def _check_gate(policy: Policy, config: SweepConfig, source: str) -> None:
    """Raise ConfigError for a statistic that needs more trials per task than the sweep makes."""
    trials = config.repeats * config.schedule.waves
    for wanted in (*(m.statistic for m in policy.minimum), *(b.statistic for b in policy.non_inferior)):
        k = int(wanted[len("pass@") :])
        if k > trials:
            raise ConfigError(
                f"{source}: {wanted} needs {k} trials of each task, and {config.repeats} repeats in"
                f" {config.schedule.waves} waves make {trials}; raise repeats or lower k"
            )


def run_due(
    request: Request,
    open_listener: Callable[[], Listener],
    quiet: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    sleep: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = print,
    grip: Grip | None = None,
) -> int:
    """Run what is due; with `wait`, until the last wave is done. Returns the exit code.

    `say` hears sentences, unless `quiet`; `grip` can stop a driver, None: the terminal's Ctrl-C.
    """
    around = Around(open_listener, _nobody if quiet else say, grip or Hands(), now)
    frozen, root = load(request, now())
    if not root.exists(plan_path(frozen.plan.sweep_id)):
        write_plan(root, frozen.plan)
    for notice in frozen.notices:
        around.say(f"note: {notice}")
    code = 0
    while True:
        due = _due(frozen, root, request, now())
        if due.run:
            code = max(code, _run_waves(frozen, root, request, due, around))
            if code != 130:
                code = max(code, _gate(frozen, root, request, around.say))
        if code == 130 or not request.wait or due.next_at is None or around.grip.let_go:
            break
        sleep(max(0.0, min(60.0, (due.next_at - now()).total_seconds())))
    if not due.run and due.next_at is not None:
        around.say(f"nothing is due; the next wave is due at {due.next_at:%Y-%m-%d %H:%M} UTC")
    return code


@dataclass(frozen=True, slots=True)
class Around:
    """Who sees, hears and stops a run, and its clock."""

    open_listener: Callable[[], Listener]
    say: Callable[[str], None]
    grip: Grip
    now: Callable[[], datetime]


def _nobody(_: str) -> None:
    """Hears nothing."""


def gate_file(request: Request, config: SweepConfig) -> Path | None:
    """The policy a sweep is judged by, beside its file unless the request says where."""
    if request.gate is not None or config.gate is None or request.sweep is None:
        return request.gate
    return request.sweep.resolve().parent / config.gate


def _gate(frozen: Frozen, root: Root, request: Request, say: Callable[[str], None]) -> int:
    """1 when the sweep's gate does not hold, told to the hooks; 0 when it holds or there is none."""
    policy = gate_file(request, frozen.config)
    if policy is None:
        return 0
    try:
        verdict = judge(read_policy(policy), [root.location])
        holds, words = verdict.holds, verdict.paragraph()
    except RowsError as error:
        holds, words = False, f"The gate cannot be judged: {error}"
    say(words)
    if holds:
        return 0
    body = {"sweep": frozen.plan.sweep_id, "verdict": words}
    tell_hooks(frozen.config.hooks, "gate_failed", body, lambda _, fields: say(str(fields["message"])))
    return 1


def _due(frozen: Frozen, root: Root, request: Request, now: datetime) -> Due:
    if request.wave is not None:
        if not 0 <= request.wave < frozen.plan.waves:
            raise ConfigError(f"wave {request.wave} was asked for; the sweep has waves 0 to {frozen.plan.waves - 1}")
        return Due((request.wave,), frozenset(), (), None)
    times = due_times(rhythm_of(frozen.config), datetime.fromisoformat(frozen.plan.created_at))
    return due_now(times, now, waves_with_rows(root, frozen.plan.sweep_id), frozen.config.schedule.missed)


def _run_waves(
    frozen: Frozen,
    root: Root,
    request: Request,
    due: Due,
    around: Around,
) -> int:
    changes = environment_changes(root, frozen.plan.sweep_id, due.run[-1], request.place)
    for change in changes:
        around.say(f"note: the environment changed since the wave before: {change}")
    if changes:
        body = {"sweep": frozen.plan.sweep_id, "wave": due.run[-1], "changes": changes}
        tell_hooks(
            frozen.config.hooks, "environment_changed", body, lambda _, fields: around.say(str(fields["message"]))
        )
    if changes and (request.strict_environment or frozen.config.strict_environment):
        raise ConfigError(f"the environment changed and strict_environment is set: {changes[0]}; nothing was started")
    options = RunOptions(
        waves=due.run,
        late_waves=due.late,
        concurrency=request.concurrency,
        surplus=1 if request.address else 0,
        await_nodes_s=AWAIT_NODES_S if request.address else None,
        environment_changed=bool(changes),
        adopt=request.outliving is not None,
    )
    with open_models(
        frozen, root, os.environ, lambda text: around.say(f"note: {text}"), request.address, request.outliving
    ) as models:
        place = replace(request.place, models=models)
        opener = cluster_opener(frozen, place, request.address, request.cpus, facts(frozen), request.outliving)
        if models is not None:
            options = replace(options, usage=models.usage)
        with open_log(log_path(root, frozen.plan.sweep_id)) as log:
            ended = _logged(frozen, root, opener, options, around, log)
    return _exit_code(ended, around.say)


def _logged(
    frozen: Frozen,
    root: Root,
    opener: Callable[[], Cluster],
    options: RunOptions,
    around: Around,
    log: structlog.typing.FilteringBoundLogger,
) -> Ended:
    listener = around.open_listener()
    around.grip.heard_by(lambda text: listener.hear("stopping", {"message": text}))

    def hear(event: str, fields: Mapping[str, object]) -> None:
        if event == "attempt":
            log.info(
                "attempt", **{k: fields.get(k) for k in ("attempt_id", "arm", "task", "status", "failure_message")}
            )
        elif event != "progress":
            log.warning(event, **fields)
        listener.hear(event, fields)

    def on_driver(driver: Driver) -> None:
        listener.progress = driver.progress
        around.grip.take(driver)

    try:
        with around.grip.restored():
            ended = run_sweep(frozen, root, opener, options, hear, on_driver, around.now)
            listener.progress = ended.progress
    finally:
        listener.close()
    tell_hooks(frozen.config.hooks, "wave_ended", {"sweep": frozen.plan.sweep_id, "waves": list(options.waves)}, hear)
    return ended


def _exit_code(ended: Ended, say: Callable[[str], None]) -> int:
    if ended.stopped_by is not None:
        say(f"stopped: {ended.stopped_by}; the same command goes on where it stopped")
        for line in missing_words(ended.progress):
            say(line)
        return 130 if ended.stopped_by.startswith("interrupted") else 1
    return 0 if ended.progress.without_verdict == 0 else 1


def missing_words(progress: Progress) -> list[str]:
    """What a stopped sweep lacks, arm by arm, and what that means for comparisons."""
    lacking = [
        (name, arm.planned - arm.done, arm.planned) for name, arm in progress.arms.items() if arm.done < arm.planned
    ]
    lines = [f"missing: {name} lacks {open_} of {planned} trials" for name, open_, planned in lacking]
    if lacking and len(progress.arms) > 1:
        lines.append("comparisons with these arms use only the tasks and repeats both sides have; the others are whole")
    return lines
