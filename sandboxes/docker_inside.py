"""What a container says about itself, where its host cannot be looked at: by one command inside.

Trusts the container's own shell and cat; `host_view` trusts nothing inside.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sandboxes.base import Command
from sandboxes.cgroup import FILES_V1, FILES_V2
from sandboxes.docker_exec import ExecTarget, run_command

BASE = "/sys/fs/cgroup"
STATUS = "/proc/1/status"
NAME = "/proc/1/comm"
SCRIPT = 'for f in "$@"; do [ -r "$f" ] && printf "\\001%s\\002" "$f" && cat "$f"; done; :'
TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Inside:
    """Texts of files as the container sees them, by path."""

    texts: Mapping[str, str]

    @property
    def name(self) -> str:
        """What PID 1 is running."""
        return self.texts.get(NAME, "").strip()

    @property
    def cpus_allowed(self) -> str | None:
        lines = [line for line in self.texts.get(STATUS, "").splitlines() if line.startswith("Cpus_allowed_list:")]
        return lines[0].partition(":")[2].strip() if lines else None

    @property
    def version(self) -> int:
        """Of the cgroups."""
        return 1 if self.read("memory", "memory.limit_in_bytes") is not None else 2

    def read(self, controller: str, name: str) -> str | None:
        return self.texts.get(_path(controller, name))


def look_inside(target: ExecTarget) -> Inside:
    """Read status and counters by one command. Raises SandboxGoneError; missing files are left out."""
    paths = [NAME, STATUS, *(_path(*file) for file in FILES_V1 + FILES_V2)]
    command = Command(("/bin/sh", "-c", SCRIPT, "sh", *paths), user="0", timeout_s=TIMEOUT_S)
    parts = (part.partition("\2") for part in run_command(target, command).stdout.text().split("\1")[1:])
    return Inside({path: text for path, _, text in parts})


def _path(controller: str, name: str) -> str:
    return f"{BASE}/{controller}/{name}" if controller else f"{BASE}/{name}"
