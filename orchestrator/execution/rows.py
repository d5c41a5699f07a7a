"""An attempt -> its row, as JSON values; and rows for attempts that have no sandbox to tell of. Pure."""

import math
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from orchestrator.core.columns import SCHEMA_VERSION, empty_row
from orchestrator.core.dispatch import Job
from orchestrator.core.ending import Ending
from orchestrator.core.plan import attempt_id
from orchestrator.core.status import Status
from orchestrator.execution.attempt import Attempt
from orchestrator.models.usage import ModelUsage
from sandboxes.resources import ResourceSpec
from sandboxes.snapshot import HostSnapshot, ImageSnapshot, snapshot_id

MIB = 1024 * 1024
MAX_MESSAGE = 4_000
MAX_TRIES = 100
PHASES = (
    "cores_wait",
    "image",
    "network",
    "start_wait",
    "create",
    "sidecars",
    "healthcheck",
    "setup",
    "agent",
    "kill",
    "artifacts",
    "grade",
    "remove",
)


def attempt_row(attempt: Attempt, host: HostSnapshot, node: str, constants: Mapping[str, object]) -> dict[str, object]:
    """Every column of one attempt but `final`, the retry policy and the evidence, which the driver knows."""
    assignment = attempt.assignment
    assert attempt.finished_at is not None
    row = _identity(assignment.job, {**constants, **assignment.columns}, attempt.started_at, attempt.finished_at)
    row |= _ending(attempt.ending)
    row |= _verdict(attempt)
    row |= requested(assignment.resources)
    row["requested_network"] = assignment.task.network.mode
    row |= _effective(attempt)
    row |= {f"used_{name}": getattr(attempt.counters, field) for name, field in _USED}
    row |= _environment(attempt, host, node)
    row |= _beside(attempt)
    row |= {f"{phase}_s": _seconds(attempt.phases.seconds.get(phase)) for phase in PHASES}
    row |= _usage(attempt)
    row["output_dropped_bytes"] = attempt.recorder.dropped_bytes
    return row


def lost_row(
    job: Job,
    constants: Mapping[str, object],
    ending: Ending,
    started_at: datetime,
    finished_at: datetime,
    usage: ModelUsage | None = None,
) -> dict[str, object]:
    """The row of an attempt that no worker could tell of: its worker, node or controller died.

    `usage`: what the gateway metered for it until then; what was spent is spent.
    """
    row = _identity(job, constants, started_at, finished_at) | _ending(ending)
    return row | usage_columns(usage) if usage is not None and usage.calls else row


_USED = (
    ("memory_peak_bytes", "memory_peak_bytes"),
    ("oom_kills", "oom_kills"),
    ("pids_limit_hits", "pids_limit_hits"),
    ("cpu_s", "cpu_usage_s"),
    ("throttled_s", "throttled_s"),
    ("throttled_periods", "throttled_periods"),
    ("disk_written_bytes", "disk_written_bytes"),
)


def _identity(
    job: Job, constants: Mapping[str, object], started_at: datetime, finished_at: datetime
) -> dict[str, object]:
    trial = job.trial
    return empty_row() | {
        **constants,
        "schema_version": SCHEMA_VERSION,
        "task": trial.task,
        "agent": trial.arm.agent,
        "resources": trial.arm.resources,
        "lane": trial.arm.lane,
        "arm": trial.arm.name,
        "wave": trial.wave,
        "repeat": trial.repeat,
        "attempt": job.attempt,
        "trial_key": trial.key,
        "attempt_id": attempt_id(trial.key, job.attempt),
        "plan_position": trial.position,
        "day": started_at.date().isoformat(),
        "started_at": started_at.isoformat(),
        "finished_at": finished_at.isoformat(),
        "total_s": _seconds((finished_at - started_at).total_seconds()),
        "suspect": False,
    }


def _ending(ending: Ending) -> dict[str, object]:
    return {
        "status": ending.status.value,
        "origin": ending.status.origin.value,
        "passed": ending.status is Status.PASSED if ending.status.has_verdict else None,
        "failure_phase": ending.phase,
        "failure_kind": ending.kind,
        "failure_message": ending.message[:MAX_MESSAGE] if ending.message else None,
    }


def _verdict(attempt: Attempt) -> dict[str, object]:
    verdict, result = attempt.verdict, attempt.agent_result
    columns: dict[str, object] = {
        "agent_ending": result.ending,
        "agent_exit_code": result.exit_code,
        "agent_version": result.version,
        "grading_mode": attempt.grading_mode,
        "flags": list(dict.fromkeys(attempt.flags)),
        "suspect": attempt.suspect,
    }
    if verdict is not None:
        columns |= {
            "score": verdict.score if attempt.ending.status.has_verdict else None,
            "rewards": dict(verdict.rewards),
            "grader": verdict.grader,
            "judge_version": verdict.judge_version,
            "judge_verdict": verdict.judge_verdict,
            "judge_cost_usd": verdict.cost_usd,
        }
    return columns


def requested(spec: ResourceSpec) -> dict[str, object]:
    """The requested group of columns."""
    return {
        "requested_cpus": spec.cpus,
        "requested_cpus_limit": spec.cpus_limit,
        "requested_pinned": spec.pinned,
        "requested_memory_bytes": spec.memory_mb * MIB,
        "requested_memory_limit_bytes": None if spec.memory_limit_mb is None else spec.memory_limit_mb * MIB,
        "requested_swap_bytes": spec.swap_mb * MIB,
        "requested_pids_limit": spec.pids_limit,
        "requested_disk_bytes": None if spec.disk_mb is None else spec.disk_mb * MIB,
        "requested_shm_bytes": spec.shm_mb * MIB,
        "requested_gpus": spec.gpus,
    }


def _effective(attempt: Attempt) -> dict[str, object]:
    seen = attempt.effective
    if seen is None:
        return {}
    return {f"effective_{name}": getattr(seen, name) for name in seen.__slots__}


def _environment(attempt: Attempt, host: HostSnapshot, node: str) -> dict[str, object]:
    image, before, after = attempt.image, attempt.before, attempt.after
    columns: dict[str, object] = {
        "host_id": _host_id(host),
        "node": node,
        "neighbours_at_start": before.neighbours,
        "load_at_start": before.load_1m,
        "load_at_end": after.load_1m,
        "steal_at_start": before.steal_share,
        "steal_at_end": after.steal_share,
        "frequency_mhz_at_start": before.frequency_mhz,
        "temperature_c_at_start": before.temperature_c,
    }
    if image is not None:
        columns |= {
            "snapshot_id": _snapshot_id(
                host, image, tuple(i.image_key for _, i in sorted(attempt.sidecar_images.items()))
            ),
            "image_key": _image_key(image),
            "image_reference": image.reference,
            "image_digest": image.digest,
            "image_digest_kind": image.digest_kind,
            "image_engine_id": image.engine_id,
        }
    return columns


def _beside(attempt: Attempt) -> dict[str, object]:
    """The services beside the agent, and what was asked of its network; null where there was none."""
    columns: dict[str, object] = {}
    specs, counted = attempt.assignment.sidecars, attempt.sidecar_counters
    if specs:
        columns |= {
            "requested_sidecar_cpus": sum(spec.cpus for spec in specs.values()),
            "requested_sidecar_memory_bytes": sum(spec.memory_mb for spec in specs.values()) * MIB,
            "used_sidecar_memory_peak_bytes": {
                n: float(c.memory_peak_bytes) for n, c in counted.items() if c.memory_peak_bytes is not None
            },
            "used_sidecar_oom_kills": sum(c.oom_kills or 0 for c in counted.values()) if counted else None,
            "sidecar_images": [f"{name}={image.digest}" for name, image in sorted(attempt.sidecar_images.items())],
        }
    networks = (attempt.assignment.task.network, *(step.grading.network for step in attempt.assignment.task.steps))
    if any(network.mode == "allowlist" for network in networks):
        columns |= {
            "network_allowed": [found.line() for found in attempt.tries if found.allowed][:MAX_TRIES],
            "network_refused": [found.line() for found in attempt.tries if not found.allowed][:MAX_TRIES],
        }
    return columns


@lru_cache(maxsize=64)
def _host_id(host: HostSnapshot) -> str:
    return host.host_id


@lru_cache(maxsize=4096)
def _image_key(image: ImageSnapshot) -> str:
    return image.image_key


@lru_cache(maxsize=4096)
def _snapshot_id(host: HostSnapshot, image: ImageSnapshot, beside: tuple[str, ...]) -> str:
    return snapshot_id(host, image, beside)


def _usage(attempt: Attempt) -> dict[str, object]:
    return usage_columns(attempt.agent_result.usage)


def usage_columns(usage: ModelUsage) -> dict[str, object]:
    """The group of columns about the model, without `model` where it is not known."""
    columns = {name: getattr(usage, name) for name in usage.__slots__ if name != "model"}
    if usage.model is not None:
        columns["model"] = usage.model
    return {name: _finite(value) for name, value in columns.items()}


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
