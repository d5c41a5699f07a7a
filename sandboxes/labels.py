"""Labels on everything made in the engine, and who owns it: host, boot, process. Knows no engine.

An owner is a process. Its id alone is reused by the kernel, so its start time stands beside it; a boot
id tells a reboot, and a pid namespace tells that the numbers mean nothing here.
"""

import json
import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

SWEEP = "passhat.sweep"
ATTEMPT = "passhat.attempt"
OWNER = "passhat.owner"
CORES = "passhat.cores"
DEADLINE = "passhat.deadline"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process on a host. `start_ticks` is field 22 of /proc/<pid>/stat."""

    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    start_ticks: int

    @classmethod
    def current(cls, proc: str = "/proc") -> "Owner":
        """This process."""
        pid = os.getpid()
        return cls(
            host=socket.gethostname(),
            boot_id=Path(proc, "sys/kernel/random/boot_id").read_text().strip(),
            pid_namespace=os.readlink(f"{proc}/self/ns/pid"),
            pid=pid,
            start_ticks=start_ticks(pid, proc) or 0,
        )

    def encode(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str | None) -> "Owner | None":
        """The owner a label names, or None where the label is missing or not ours."""
        try:
            fields = json.loads(text or "")
            owner = cls(**fields)
        except (ValueError, TypeError):
            return None
        sound = isinstance(owner.pid, int) and isinstance(owner.start_ticks, int)
        return owner if sound and isinstance(owner.boot_id, str) else None


def start_ticks(pid: int, proc: str = "/proc") -> int | None:
    """When a process started, in clock ticks since boot; None when there is no such process."""
    try:
        stat = Path(proc, str(pid), "stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def is_alive(owner: Owner | None, here: Owner, proc: str = "/proc") -> bool | None:
    """Whether an owner lives; None where this process cannot know: another host, pid namespace, or a hidden process.

    The same host name with another boot id is dead: nothing outlives a reboot.
    """
    if owner is None:
        return None
    if owner.boot_id != here.boot_id:
        return False if owner.host == here.host else None
    if owner.pid_namespace != here.pid_namespace:
        return None
    if start_ticks(owner.pid, proc) == owner.start_ticks:
        return True
    return None if _is_hidden(owner.pid, proc) else False


def _is_hidden(pid: int, proc: str) -> bool:
    """Whether there is a process that /proc does not show: another user's, where it is mounted with hidepid."""
    if Path(proc, str(pid)).exists():
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return False


def sandbox_labels(owner: Owner, cores: Iterable[int], deadline_at: float) -> dict[str, str]:
    """What a provider adds to the labels of a request. `deadline_at` in seconds since the epoch."""
    return {
        OWNER: owner.encode(),
        CORES: ",".join(str(core) for core in sorted(cores)),
        DEADLINE: str(int(deadline_at)),
    }


def labelled_cores(labels: Mapping[str, str]) -> frozenset[int]:
    """The exclusive cores a container was given."""
    parts = (part.strip() for part in labels.get(CORES, "").split(","))
    return frozenset(int(part) for part in parts if part.isdigit())


def labelled_deadline(labels: Mapping[str, str]) -> float | None:
    """Seconds since the epoch after which nobody wants the thing, or None."""
    try:
        return float(labels[DEADLINE])
    except (KeyError, ValueError):
        return None
