"""A container's cgroup on the host: where it is, and what its counters say. Knows no engine.

Version 1 (a folder per controller) and version 2 (one folder), under cgroupfs or systemd: the folder is
found from /proc/<pid>/cgroup and the mounts, so how the engine names it does not matter. Parsing is
pure; only `locate` and `CgroupFolders.read` touch files.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandboxes.resources import Counters

UNIFIED = ""
UNLIMITED_V1 = 1 << 60
Reader = Callable[[str, str], str | None]

FILES_V1 = (
    ("memory", "memory.max_usage_in_bytes"),
    ("memory", "memory.oom_control"),
    ("pids", "pids.events"),
    ("cpuacct", "cpuacct.usage"),
    ("cpu", "cpu.stat"),
    ("blkio", "blkio.throttle.io_service_bytes_recursive"),
    ("memory", "memory.limit_in_bytes"),
)
FILES_V2 = tuple(
    (UNIFIED, name) for name in ("memory.peak", "memory.events", "pids.events", "cpu.stat", "io.stat", "memory.max")
)


@dataclass(frozen=True, slots=True)
class CgroupFolders:
    """The folders of one cgroup by controller; version 2 has one, under the empty name."""

    version: int
    folders: Mapping[str, Path]

    def read(self, controller: str, name: str) -> str | None:
        folder = self.folders.get(controller)
        if folder is None:
            return None
        try:
            return (folder / name).read_text()
        except (OSError, UnicodeDecodeError):
            return None

    @property
    def process_folder(self) -> Path | None:
        """The folder whose cgroup.procs names the members and whose freezer stops them."""
        return self.folders.get(UNIFIED if self.version == 2 else "freezer")


def parse_membership(text: str) -> dict[str, str]:
    """/proc/<pid>/cgroup: controller to path; the unified hierarchy under the empty name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(",") if number != "0" else [UNIFIED]:
            found[controller] = path
    return found


def parse_mounts(text: str) -> dict[str, tuple[str, str]]:
    """/proc/self/mountinfo: controller to (mount point, the hierarchy's path mounted there)."""
    found: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 5 or len(kind) < 3 or not kind[0].startswith("cgroup"):
            continue
        place = (_unescape(fields[4]), _unescape(fields[3]))
        for name in [UNIFIED] if kind[0] == "cgroup2" else kind[2].split(","):
            found.setdefault(name, place)
    return found


def locate(pid: int, container_id: str, proc: str = "/proc") -> CgroupFolders | None:
    """The cgroup of a container's PID 1, or None where this host does not show it.

    None too when the process is not in a cgroup of that container: then the number means another
    process here (an engine in another pid namespace, or one that ended).
    """
    try:
        membership = parse_membership(Path(proc, str(pid), "cgroup").read_text())
        mounts = parse_mounts(Path(proc, "self", "mountinfo").read_text())
    except OSError:
        return None
    if not any(container_id in path for path in membership.values()):
        return None
    folders = {}
    for controller, path in membership.items():
        if controller in mounts and container_id in path:
            folder = _folder(*mounts[controller], path)
            if folder.is_dir():
                folders[controller] = folder
    if "memory" in folders:
        return CgroupFolders(1, folders)
    return CgroupFolders(2, {UNIFIED: folders[UNIFIED]}) if UNIFIED in folders else None


def read_counters(version: int, read: Reader) -> Counters:
    """The counters of a cgroup through `read(controller, file)`; None where a file is missing."""
    return _counters_v2(read) if version == 2 else _counters_v1(read)


def read_memory_limit(version: int, read: Reader) -> int | None:
    """Bytes at which the kernel kills, or None: not limited, or not readable."""
    name = (UNIFIED, "memory.max") if version == 2 else ("memory", "memory.limit_in_bytes")
    limit = parse_number(read(*name))
    return None if limit is None or limit >= UNLIMITED_V1 else limit


def parse_number(text: str | None) -> int | None:
    stripped = (text or "").strip()
    return int(stripped) if stripped.isdigit() else None


def parse_flat(text: str | None) -> dict[str, int]:
    """Lines of `key number`."""
    pairs = (line.split() for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def parse_written_v1(text: str | None) -> int | None:
    """blkio.throttle.io_service_bytes: bytes written over all devices."""
    if text is None:
        return None
    rows = (line.split() for line in text.splitlines())
    return sum(int(row[2]) for row in rows if len(row) == 3 and row[1] == "Write")


def parse_written_v2(text: str | None) -> int | None:
    """io.stat: bytes written over all devices."""
    if text is None:
        return None
    cells = (cell.partition("=") for cell in text.split())
    return sum(int(value) for key, _, value in cells if key == "wbytes" and value.isdigit())


def _counters_v1(read: Reader) -> Counters:
    stat = parse_flat(read("cpu", "cpu.stat"))
    usage_ns = parse_number(read("cpuacct", "cpuacct.usage"))
    throttled_ns = stat.get("throttled_time")
    return Counters(
        memory_peak_bytes=parse_number(read("memory", "memory.max_usage_in_bytes")),
        oom_kills=parse_flat(read("memory", "memory.oom_control")).get("oom_kill"),
        pids_limit_hits=parse_flat(read("pids", "pids.events")).get("max"),
        cpu_usage_s=None if usage_ns is None else usage_ns / 1e9,
        throttled_s=None if throttled_ns is None else throttled_ns / 1e9,
        throttled_periods=stat.get("nr_throttled"),
        disk_written_bytes=parse_written_v1(read("blkio", "blkio.throttle.io_service_bytes_recursive")),
    )


def _counters_v2(read: Reader) -> Counters:
    stat = parse_flat(read(UNIFIED, "cpu.stat"))
    usage_us, throttled_us = stat.get("usage_usec"), stat.get("throttled_usec")
    return Counters(
        memory_peak_bytes=parse_number(read(UNIFIED, "memory.peak")),
        oom_kills=parse_flat(read(UNIFIED, "memory.events")).get("oom_kill"),
        pids_limit_hits=parse_flat(read(UNIFIED, "pids.events")).get("max"),
        cpu_usage_s=None if usage_us is None else usage_us / 1e6,
        throttled_s=None if throttled_us is None else throttled_us / 1e6,
        throttled_periods=stat.get("nr_throttled"),
        disk_written_bytes=parse_written_v2(read(UNIFIED, "io.stat")),
    )


def _folder(mount_point: str, mounted: str, path: str) -> Path:
    prefix = "" if mounted == "/" else mounted
    return Path(mount_point, path.removeprefix(prefix).lstrip("/"))


def _unescape(text: str) -> str:
    return text.replace("\\040", " ")
