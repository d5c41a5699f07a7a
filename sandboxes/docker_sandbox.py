"""One running container as a sandbox. Knows no trial."""

import contextlib
import time
from collections.abc import Iterable
from typing import Any

import docker.errors

from sandboxes import docker_files, rootfs
from sandboxes.base import (
    MAX_ARCHIVE_BYTES,
    Command,
    ExecResult,
    FileEntry,
    PathChange,
    SandboxError,
    SandboxGoneError,
)
from sandboxes.cgroup import read_counters, read_memory_limit
from sandboxes.docker_engine import Engine, engine_errors
from sandboxes.docker_exec import ExecTarget, kill_inside, run_command
from sandboxes.docker_inside import look_inside
from sandboxes.docker_options import PID_1_NAME, killer_options
from sandboxes.host_view import HostView
from sandboxes.resources import Counters, EffectiveResources

KINDS = {0: "changed", 1: "added", 2: "deleted"}
REMOVE_TIMEOUT_S = 60.0
KILLER_TIMEOUT_S = 30
DYING_S = 1.0
SETTLE_TIMEOUT_S = 30.0


class DockerSandbox:
    """A container. Looks at it from the host where it can, and through the engine where it cannot.

    `view` None: everything goes through the engine. Counters and the kill then rely on programs in the
    container; the kill is checked with the engine's own list of processes. `pid_1`: the name that PID 1 has
    once it is what it stays; None where it is not ours, and may have any.
    """

    def __init__(
        self, engine: Engine, inspected: dict[str, Any], view: HostView | None, pid_1: str | None = PID_1_NAME
    ) -> None:
        self._engine = engine
        self._id = str(inspected["Id"])
        self._view = view
        names = (item.partition("=")[0] for item in inspected["Config"]["Env"] or [])
        self._target = ExecTarget(engine, self._id, tuple(names), view)
        self._image_id = str(inspected["Image"])
        self._labels = dict(inspected["Config"]["Labels"] or {})
        self._planted: frozenset[str] | None = None
        self._pid_1 = pid_1
        self._effective = self._read_back(inspected)

    @property
    def sandbox_id(self) -> str:
        return self._id

    @property
    def effective(self) -> EffectiveResources:
        return self._effective

    def exec(self, command: Command) -> ExecResult:
        self._planted = None
        return run_command(self._target, command)

    def put(self, entries: Iterable[FileEntry]) -> None:
        """See `Sandbox.put`. Folders on the way that are links planted after the start are replaced by
        folders; links that came with the image are followed inside the container.
        """
        wanted = list(entries)
        view = self._view
        if view is None or not view.may_enter:
            docker_files.put(self._engine, self._id, wanted, self._is_planted)
            return
        with self._file_errors(view, "put files"), view.root() as root:
            rootfs.put(root, wanted, self._is_planted)

    def get(self, path: str, max_bytes: int = MAX_ARCHIVE_BYTES) -> list[FileEntry]:
        view = self._view
        if view is None or not view.may_enter:
            return docker_files.get(self._engine, self._id, path, max_bytes)
        with self._file_errors(view, f"get {path}"), view.root() as root:
            return rootfs.get(root, path, max_bytes)

    def kill_processes(self) -> int:
        if self._view is not None and self._view.may_kill:
            return self._view.kill_all()
        return self._kill_through_engine()

    def processes(self) -> list[str]:
        if self._view is not None and self._view.cgroup.process_folder is not None:
            self._view.require()
            return self._view.command_lines()
        self._engine.require_running(self._id)
        with engine_errors(f"list the processes of container {self._id[:12]}"):
            top = self._engine.client.top(self._id, "-eo pid,ppid,args")
        rows = sorted((int(row[0]), row[2]) for row in top["Processes"])
        init = int(self._engine.inspect(self._id)["State"]["Pid"])
        return [line for pid, line in rows if pid != init]

    def counters(self) -> Counters:
        view = self._view
        if view is None:
            inside = look_inside(self._target)
            return read_counters(inside.version, inside.read)
        found = read_counters(view.cgroup.version, view.cgroup.read)
        view.require()
        return found

    def changed_paths(self) -> list[PathChange]:
        with engine_errors(f"compare container {self._id[:12]} with its image"):
            changes = self._engine.client.diff(self._id) or []
        return [PathChange(item["Path"], KINDS.get(item["Kind"], "changed")) for item in changes]

    def remove(self) -> None:
        if self._view is not None:
            self._view.close()
        remove_container(self._engine, self._id)

    def _kill_through_engine(self) -> int:
        """By a command inside, and where that leaves something, by a fresh container beside it."""
        before = self.processes()
        if before:
            kill_inside(self._target)
            if self._left_after(DYING_S):
                self._kill_from_beside()
            left = self._left_after(DYING_S)
            if left:
                raise SandboxError(
                    f"{len(left)} processes outlived SIGKILL (first: {left[0][:100]!r}): remove the container,"
                    " and run passhat as root on the engine's host, where they can be frozen first"
                )
        return len(before)

    def _left_after(self, timeout_s: float) -> list[str]:
        """What is still alive once what was killed has had time to end."""
        give_up = time.monotonic() + timeout_s
        while (left := self.processes()) and time.monotonic() < give_up:
            time.sleep(0.01)
        return left

    def _kill_from_beside(self) -> None:
        client = self._engine.client
        options = killer_options(self._image_id, self._id, self._labels)
        with engine_errors(f"kill the processes of container {self._id[:12]}"):
            answer = client.create_container_from_config(options)  # type: ignore[no-untyped-call]
            try:
                client.start(answer["Id"])
                client.wait(answer["Id"], timeout=KILLER_TIMEOUT_S)
            finally:
                remove_container(self._engine, answer["Id"])

    def _is_planted(self, path: str) -> bool:
        """Whether a path is not as the image has it; asked only of links in the way of a put."""
        if self._planted is None:
            self._planted = frozenset(change.path for change in self.changed_paths())
        return path in self._planted

    @contextlib.contextmanager
    def _file_errors(self, view: HostView, asked: str) -> Any:
        try:
            yield
        except SandboxError:
            raise
        except OSError as error:
            view.require()
            raise SandboxError(
                f"{asked} in container {self._id[:12]}: the file system refused ({error.strerror}:"
                f" {error.filename}); see whether its disk is full or read-only"
            ) from error

    def _read_back(self, inspected: dict[str, Any]) -> EffectiveResources:
        host = inspected["HostConfig"]
        quota, period = host.get("CpuQuota") or 0, host.get("CpuPeriod") or 100_000
        nano = host.get("NanoCpus") or 0
        size = (host.get("StorageOpt") or {}).get("size", "")
        cpus_allowed, memory_limit = self._settled()
        return EffectiveResources(
            cpus_quota=nano / 1e9 if nano else quota / period if quota > 0 else None,
            cpuset=host.get("CpusetCpus") or None,
            cpus_allowed=cpus_allowed,
            memory_limit_bytes=host.get("Memory") or None,
            cgroup_memory_limit_bytes=memory_limit,
            memory_swap_bytes=host.get("MemorySwap") or None,
            pids_limit=host.get("PidsLimit") or None,
            shm_bytes=host.get("ShmSize") or None,
            disk_bytes=int(size[:-1]) << 20 if size.endswith("M") and size[:-1].isdigit() else None,
            runtime=host.get("Runtime") or None,
            network=host.get("NetworkMode") or None,
        )

    def _settled(self) -> tuple[str | None, int | None]:
        """(cores allowed, memory limit), once PID 1 is what it stays.

        What runs inside could else replace the programs that PID 1 is still made of.
        """
        view, give_up = self._view, time.monotonic() + SETTLE_TIMEOUT_S
        while time.monotonic() < give_up:
            inside = None if view is not None else look_inside(self._target)
            name = inside.name if inside is not None else view.name() if view is not None else None
            if self._pid_1 in (None, name):
                if inside is not None:
                    return inside.cpus_allowed, read_memory_limit(inside.version, inside.read)
                assert view is not None
                return view.cpus_allowed(), read_memory_limit(view.cgroup.version, view.cgroup.read)
            time.sleep(0.001)
        raise SandboxError(
            f"PID 1 of container {self._id[:12]} did not become {self._pid_1!r} within {SETTLE_TIMEOUT_S:.0f} s:"
            " the image needs /bin/sh and sleep"
        )


def remove_container(engine: Engine, container_id: str) -> None:
    """Kill and remove a container with its anonymous volumes; fine when it is gone already."""
    give_up = time.monotonic() + REMOVE_TIMEOUT_S
    while True:
        try:
            with engine_errors(f"remove container {container_id[:12]}"):
                engine.client.remove_container(container_id, v=True, force=True)
            return
        except SandboxGoneError:
            if not _still_listed(engine, container_id):
                return
            if time.monotonic() > give_up:
                raise
            time.sleep(0.05)
        except SandboxError as error:
            cause = error.__cause__
            if isinstance(cause, docker.errors.NotFound):
                return
            if not isinstance(cause, docker.errors.APIError) or time.monotonic() > give_up:
                raise
            time.sleep(0.2)


def _still_listed(engine: Engine, container_id: str) -> bool:
    status, _ = engine.socket.request("GET", f"/containers/{container_id}/json", None, engine.timeout_s)
    return status == 200
