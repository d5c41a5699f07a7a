"""A container seen from its host: its PID 1, its cgroup, its processes, its root folder. No engine.

What the host's kernel tells cannot be faked by what runs inside. Where this process may not look (no
root, another pid namespace, a remote engine) there is no view, and the caller asks the engine instead.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sandboxes.base import SandboxError, SandboxGoneError
from sandboxes.cgroup import CgroupFolders, locate

KILL_TIMEOUT_S = 20.0
FREEZE_TIMEOUT_S = 2.0
PF_EXITING = 0x4
SAME_USERS = ["0", "0", "4294967295"]


class HostView:
    """Holds a pidfd, so that a recycled process id is never taken for the container's PID 1."""

    def __init__(self, pid: int, pidfd: int, cgroup: CgroupFolders, proc: str) -> None:
        self.pid = pid
        self.cgroup = cgroup
        self._pidfd = pidfd
        self._proc = proc
        self.may_enter = self._may_enter()
        self.may_kill = os.geteuid() == 0 and cgroup.process_folder is not None

    @classmethod
    def open(cls, pid: int, container_id: str, proc: str = "/proc") -> "HostView | None":
        """The view of a running container, or None where this process cannot have one."""
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            return None
        cgroup = locate(pid, container_id, proc)
        if cgroup is None:
            os.close(pidfd)
            return None
        return cls(pid, pidfd, cgroup, proc)

    def close(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def alive(self) -> bool:
        """Whether PID 1 lives, and is not ending: its processes are killed while it ends, not after."""
        if self._pidfd < 0:
            return False
        fields = self._stat(self.pid)
        if fields is None or int(fields[6]) & PF_EXITING:
            return False
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return not poll.poll(0)

    @property
    def paused(self) -> bool:
        """Whether somebody froze the container (the engine's pause does)."""
        if self.cgroup.version == 2:
            return (self.cgroup.read("", "cgroup.freeze") or "0").strip() == "1"
        return (self.cgroup.read("freezer", "freezer.state") or "THAWED").strip() != "THAWED"

    def require(self) -> None:
        """Raise SandboxGoneError unless the container lives and is not paused."""
        if not self.alive():
            raise SandboxGoneError(
                "the container ended while it was in use: it was stopped or removed from outside, or its"
                " deadline passed; try the trial again"
            )
        if self.paused:
            raise SandboxGoneError("the container was paused from outside while it was in use; try the trial again")

    def name(self) -> str | None:
        """What PID 1 is running. Raises SandboxGoneError when it ended."""
        self.require()
        with contextlib.suppress(OSError):
            return Path(self._proc, str(self.pid), "comm").read_text(errors="replace").strip()
        return None

    def cpus_allowed(self) -> str | None:
        """The kernel's Cpus_allowed_list of PID 1."""
        try:
            lines = Path(self._proc, str(self.pid), "status").read_text().splitlines()
        except OSError:
            return None
        found = [line.partition(":")[2].strip() for line in lines if line.startswith("Cpus_allowed_list")]
        return found[0] if found and self.alive() else None

    @contextlib.contextmanager
    def root(self) -> Iterator[int]:
        """A file descriptor of the container's root folder, with its mounts as seen from inside."""
        self.require()
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            descriptor = os.open(f"{self._proc}/{self.pid}/root", flags)
        except OSError:
            self.require()
            raise
        try:
            self.require()
            yield descriptor
        finally:
            os.close(descriptor)

    def members(self) -> list[int]:
        """Host process ids of everything in the container but PID 1."""
        folder = self.cgroup.process_folder
        if folder is None:
            return []
        found: list[int] = []
        for place, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                found += [int(line) for line in Path(place, "cgroup.procs").read_text().split()]
        return [pid for pid in found if pid not in (self.pid, 0)]

    def command_lines(self) -> list[str]:
        return [line for line in map(self._command_line, self.members()) if line is not None]

    def kill_all(self) -> int:
        """SIGKILL everything but PID 1, and check; returns how many died.

        The cgroup is frozen first, so nothing can fork away from the signal. Raises SandboxError when
        something is still alive after 20 s.
        """
        self.require()
        killed: set[int] = set()
        give_up = time.monotonic() + KILL_TIMEOUT_S
        while members := self.members():
            if time.monotonic() > give_up:
                raise SandboxError(
                    f"{len(members)} processes of the container outlived SIGKILL for {KILL_TIMEOUT_S:.0f} s"
                    " (stuck in the kernel): remove the container and look at the host's disks"
                )
            with self._frozen():
                frozen = self.members()
                self._signal(frozen)
                killed.update(frozen)
            self._await_end(members)
        self.require()
        return len(killed)

    def kill_tree(self, pid: int) -> int:
        """SIGKILL a process, its descendants and its session; returns how many were sent it."""
        self.require()
        with self._frozen():
            doomed = self._descendants(pid)
            self._signal(doomed)
        self._await_end(doomed)
        return len(doomed)

    def _may_enter(self) -> bool:
        base = Path(self._proc, str(self.pid))
        try:
            same = all((base / name).read_text().split() == SAME_USERS for name in ("uid_map", "gid_map"))
            os.close(os.open(base / "root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        except OSError:
            return False
        return same and os.geteuid() == 0

    def _command_line(self, pid: int) -> str | None:
        base = Path(self._proc, str(pid))
        try:
            line = (base / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
            name = (base / "comm").read_text(errors="replace").strip()
        except OSError:
            return None
        return line.decode("utf-8", errors="replace") or f"[{name}]"

    def _descendants(self, root: int) -> list[int]:
        parents: dict[int, int] = {}
        doomed: set[int] = set()
        for pid in self.members():
            fields = self._stat(pid)
            if fields is not None:
                parents[pid] = int(fields[1])
                if pid == root or int(fields[3]) == root:
                    doomed.add(pid)
        grown = True
        while grown:
            children = {pid for pid, parent in parents.items() if parent in doomed} - doomed
            doomed |= children
            grown = bool(children)
        return sorted(doomed)

    def _stat(self, pid: int) -> list[str] | None:
        try:
            text = Path(self._proc, str(pid), "stat").read_text(errors="replace")
        except OSError:
            return None
        return text.rpartition(")")[2].split()

    def _signal(self, pids: Iterable[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _await_end(self, pids: Iterable[int]) -> None:
        waiting, pause = set(pids), 0.0005
        give_up = time.monotonic() + 1.0
        while waiting.intersection(self.members()) and time.monotonic() < give_up:
            time.sleep(pause)
            pause = min(pause * 2, 0.02)

    @contextlib.contextmanager
    def _frozen(self) -> Iterator[None]:
        """Freeze for the time of the block. A host that forbids it leaves the kill to be repeated."""
        folder = self.cgroup.process_folder
        assert folder is not None
        version_2 = self.cgroup.version == 2
        switch = folder / ("cgroup.freeze" if version_2 else "freezer.state")
        try:
            switch.write_text("1" if version_2 else "FROZEN")
        except OSError:
            yield
            return
        try:
            give_up = time.monotonic() + FREEZE_TIMEOUT_S
            while not self._is_frozen() and time.monotonic() < give_up:
                time.sleep(0.0005)
            yield
        finally:
            switch.write_text("0" if version_2 else "THAWED")

    def _is_frozen(self) -> bool:
        if self.cgroup.version == 2:
            return "frozen 1" in (self.cgroup.read("", "cgroup.events") or "")
        return (self.cgroup.read("freezer", "freezer.state") or "").strip() == "FROZEN"
