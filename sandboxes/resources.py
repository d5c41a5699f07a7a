"""What a trial is promised, what it is limited to, what was in force and what was used. Pure.

Promise and kill limit are two numbers, because enforcing the promise as the limit moves scores.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """A concrete resource setting for one trial: what was requested.

    cpus            cores promised (what Ray admits by)
    cpus_limit      cores it may use at most; None: uncapped
    pinned          True: exclusive whole cores as a cpuset; False: a CFS quota on shared cores
    memory_mb       MiB promised
    memory_limit_mb MiB at which the kernel kills; None: uncapped
    swap_mb         MiB of swap on top of memory; 0: none
    pids_limit      tasks at most; None: uncapped
    disk_mb         MiB of writable layer, enforced where the engine can; None: not limited
    shm_mb          MiB of /dev/shm
    gpus            GPUs promised
    """

    cpus: float = 1.0
    cpus_limit: float | None = 1.0
    pinned: bool = True
    memory_mb: int = 2048
    memory_limit_mb: int | None = 2048
    swap_mb: int = 0
    pids_limit: int | None = 1024
    disk_mb: int | None = None
    shm_mb: int = 64
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """The exclusive cores a trial was given on its host; empty on shared cores."""

    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectiveResources:
    """What is in force, read back; None where it could not be read or is not limited.

    `cpuset` and `cpus_quota` come from the engine, `cpus_allowed` (the kernel's Cpus_allowed_list) and
    `cgroup_memory_limit_bytes` from inside.
    """

    cpus_quota: float | None = None
    cpuset: str | None = None
    cpus_allowed: str | None = None
    memory_limit_bytes: int | None = None
    cgroup_memory_limit_bytes: int | None = None
    memory_swap_bytes: int | None = None
    pids_limit: int | None = None
    shm_bytes: int | None = None
    disk_bytes: int | None = None
    runtime: str | None = None
    network: str | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """What was used, from the cgroup's own counters; None where a counter cannot be read."""

    memory_peak_bytes: int | None = None
    oom_kills: int | None = None
    pids_limit_hits: int | None = None
    cpu_usage_s: float | None = None
    throttled_s: float | None = None
    throttled_periods: int | None = None
    disk_written_bytes: int | None = None
