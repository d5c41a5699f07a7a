"""The constants of this host, as its kernel and the engine tell them. Never what moves."""

import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from sandboxes.snapshot import HostSnapshot


def read_host(info: Mapping[str, Any], version: Mapping[str, Any], root: str = "/") -> HostSnapshot:
    """The snapshot from the engine's `info` and `version` and the files below `root`."""
    cpuinfo = parse_cpuinfo(_text(root, "proc/cpuinfo") or "")
    runtime = info.get("DefaultRuntime")
    return HostSnapshot(
        kernel=info.get("KernelVersion"),
        os=info.get("OperatingSystem"),
        architecture=info.get("Architecture"),
        cpu_model=cpuinfo.get("model name") or cpuinfo.get("CPU part"),
        cpu_count=info.get("NCPU"),
        cpu_threads_per_core=_threads_per_core(root),
        cpu_sockets=_sockets(root),
        memory_bytes=info.get("MemTotal"),
        governor=_text(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo=_turbo(root),
        aslr=_number(_text(root, "proc/sys/kernel/randomize_va_space")),
        cgroup_version=_number(info.get("CgroupVersion") or "1"),
        engine="docker",
        engine_version=info.get("ServerVersion"),
        runtime=runtime,
        runtime_version=_component(version, runtime),
        storage_driver=info.get("Driver"),
        python=platform.python_version(),
        ray=_distribution("ray"),
        passhat=_distribution("passhat"),
        passhat_revision=read_revision(Path(__file__).resolve().parents[1]),
    )


def parse_cpuinfo(text: str) -> dict[str, str]:
    """The first processor of /proc/cpuinfo."""
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def read_revision(folder: Path) -> str | None:
    """The commit of a git checkout, read from its files; None outside of one."""
    head = _text(str(folder), ".git/HEAD")
    if head is None or not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    loose = _text(str(folder), f".git/{name}")
    if loose is not None:
        return loose
    packed = (line.split() for line in (_text(str(folder), ".git/packed-refs") or "").splitlines())
    return next((fields[0] for fields in packed if fields[1:] == [name]), None)


def _threads_per_core(root: str) -> int | None:
    listed = _text(root, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    return None if listed is None else len(expand_list(listed))


def expand_list(text: str) -> list[int]:
    """The kernel's list format: "0-2,5" is 0, 1, 2, 5."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.strip().isdigit():
            found += range(int(first), int(last or first) + 1)
    return found


def _sockets(root: str) -> int | None:
    base = Path(root, "sys/devices/system/cpu")
    packages = {_text(str(cpu), "topology/physical_package_id") for cpu in base.glob("cpu[0-9]*")} - {None}
    return len(packages) or None


def _turbo(root: str) -> bool | None:
    intel = _text(root, "sys/devices/system/cpu/intel_pstate/no_turbo")
    if intel is not None:
        return intel == "0"
    boost = _text(root, "sys/devices/system/cpu/cpufreq/boost")
    return None if boost is None else boost == "1"


def _component(version: Mapping[str, Any], name: str | None) -> str | None:
    parts = version.get("Components") or []
    return next((part.get("Version") for part in parts if part.get("Name") == name), None)


def _distribution(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _text(root: str, path: str) -> str | None:
    try:
        return Path(root, path).read_text(errors="replace").strip() or None
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def allowed_cores() -> tuple[int, ...]:
    """The cores that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))
