"""(what a task asks for, a resource setting) -> the concrete resources of one trial. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from sandboxes.resources import ResourceSpec

DEFAULT_CPUS = 1.0
DEFAULT_MEMORY_MB = 2048


class AsksFor(Protocol):
    @property
    def cpus(self) -> float | None: ...
    @property
    def memory_mb(self) -> int | None: ...
    @property
    def storage_mb(self) -> int | None: ...
    @property
    def shm_mb(self) -> int | None: ...
    @property
    def pids(self) -> int | None: ...
    @property
    def gpus(self) -> int: ...


class Setting(Protocol):
    """A resource setting; orchestrator.config.ResourceSetting is one."""

    @property
    def headroom(self) -> float | str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def cpus(self) -> float | None: ...
    @property
    def cpus_limit(self) -> float | str | None: ...
    @property
    def memory_mb(self) -> int | None: ...
    @property
    def memory_limit_mb(self) -> int | str | None: ...
    @property
    def swap_mb(self) -> int: ...
    @property
    def pids_limit(self) -> int | str: ...
    @property
    def disk_mb(self) -> int | None: ...
    @property
    def shm_mb(self) -> int: ...


def resolve(asked: AsksFor, setting: Setting) -> ResourceSpec:
    """Promise from the task (or the setting's absolute value), limit from the headroom.

    With pinned cores the promise is rounded up to whole cores, and they are the limit.
    """
    cpus = setting.cpus or asked.cpus or DEFAULT_CPUS
    if setting.pinned:
        cpus = float(math.ceil(cpus))
    memory_mb = setting.memory_mb or asked.memory_mb or DEFAULT_MEMORY_MB
    cpus_limit = cpus if setting.pinned else _limit(cpus, setting.cpus_limit, setting.headroom)
    memory_limit = _limit(memory_mb, setting.memory_limit_mb, setting.headroom)
    return ResourceSpec(
        cpus=cpus,
        cpus_limit=cpus_limit,
        pinned=setting.pinned,
        memory_mb=memory_mb,
        memory_limit_mb=None if memory_limit is None else math.floor(memory_limit),
        swap_mb=setting.swap_mb,
        pids_limit=None if isinstance(setting.pids_limit, str) else (asked.pids or setting.pids_limit),
        disk_mb=setting.disk_mb or asked.storage_mb,
        shm_mb=asked.shm_mb or setting.shm_mb,
        gpus=asked.gpus,
    )


def _limit(promise: float, absolute: float | str | None, headroom: float | str) -> float | None:
    if absolute is not None:
        return None if isinstance(absolute, str) else float(absolute)
    return None if isinstance(headroom, str) else promise * headroom


@dataclass(frozen=True, slots=True)
class _Relative:
    """A setting without its absolute values, which are meant for the agent's container."""

    headroom: float | str
    swap_mb: int
    pids_limit: int | str
    shm_mb: int
    pinned: bool = False
    cpus: float | None = None
    cpus_limit: float | str | None = None
    memory_mb: int | None = None
    memory_limit_mb: int | str | None = None
    disk_mb: int | None = None


def resolve_beside(asked: AsksFor, setting: Setting) -> ResourceSpec:
    """The resources of a sidecar or of a separate grader: its own promise under the sweep's headroom.

    Its processor time is a quota also where the agent's cores are exclusive.
    """
    relative = _Relative(setting.headroom, setting.swap_mb, setting.pids_limit, setting.shm_mb)
    return resolve(asked, relative)


def promised(main: ResourceSpec, beside: Iterable[ResourceSpec]) -> ResourceSpec:
    """What a trial is admitted by: the agent's container and everything beside it."""
    others = list(beside)
    if not others:
        return main
    return replace(
        main,
        cpus=main.cpus + cores_beside(main, others),
        memory_mb=main.memory_mb + sum(spec.memory_mb for spec in others),
    )


def cores_beside(main: ResourceSpec, beside: Iterable[ResourceSpec]) -> float:
    """Cores for the sidecars together; whole ones where the agent's are exclusive."""
    cpus = sum(spec.cpus for spec in beside)
    return float(math.ceil(cpus)) if main.pinned else cpus
