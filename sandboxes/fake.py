"""A sandbox answered by a function: for tests, and to measure everything but the engine. Ships.

Files live in memory and behave as the seam says. What a command does is decided by the answer, which may
read and write the sandbox's files, start processes (names), set counters, or raise.
"""

import contextlib
import itertools
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sandboxes.archive import Budget, entry_parts, folder_mode
from sandboxes.base import (
    MAX_ARCHIVE_BYTES,
    Command,
    ExecResult,
    FileEntry,
    ImageError,
    ImageSource,
    Output,
    PathChange,
    PathMissingError,
    SandboxGoneError,
    SandboxRequest,
)
from sandboxes.output import BoundedOutput
from sandboxes.private_network import Joined, NetworkRequest, PrivateNetwork, Try
from sandboxes.resources import Counters, EffectiveResources
from sandboxes.sidecar import LOG_TAIL_BYTES, SidecarRequest, SidecarState
from sandboxes.snapshot import HostReadings, HostSnapshot, ImageSnapshot, content_id

Answer = Callable[["FakeSandbox", Command], ExecResult]
HOST = HostSnapshot(kernel="fake", os="fake", architecture="fake", cpu_count=1, engine="fake")
NO_COUNTS = Counters(0, 0, 0, 0.0, 0.0, 0, 0)


def answered(
    exit_code: int | None = 0,
    stdout: bytes = b"",
    stderr: bytes = b"",
    duration_s: float = 0.0,
    max_output_bytes: int | None = None,
) -> ExecResult:
    """A result; output is bounded as a real sandbox bounds it when a bound is given."""
    return ExecResult(exit_code, _bounded(stdout, max_output_bytes), _bounded(stderr, max_output_bytes), duration_s)


def always_succeeds(sandbox: "FakeSandbox", command: Command) -> ExecResult:
    """The default answer: exit code 0 and no output."""
    return SUCCESS


class FakeSandbox:
    """A place in memory. `files`, `alive` (command lines), `used` and `commands` are for answers and tests.

    `gone`: set it to make every further call raise SandboxGoneError, as when it is removed from outside.
    """

    def __init__(self, sandbox_id: str, request: SandboxRequest, answer: Answer) -> None:
        self.request = request
        self.files: dict[str, FileEntry] = {}
        self.alive: list[str] = []
        self.used = NO_COUNTS
        self.commands: list[Command] = []
        self.gone = False
        self.removed = False
        self._id = sandbox_id
        self._answer = answer

    @property
    def sandbox_id(self) -> str:
        return self._id

    @property
    def effective(self) -> EffectiveResources:
        return effective_as_asked(self.request)

    def exec(self, command: Command) -> ExecResult:
        self._require()
        self.commands.append(command)
        return self._answer(self, command)

    def put(self, entries: Iterable[FileEntry]) -> None:
        self._require()
        for entry in sorted(entries, key=lambda item: entry_parts(item.path)):
            parts = entry_parts(entry.path)
            for depth in range(1, len(parts)):
                self._make_folder("/" + "/".join(parts[:depth]))
            path = "/" + "/".join(parts)
            is_folder = entry.data is None and entry.link is None
            if not is_folder or not self._is_folder(path):
                self._drop(path)
            mode = folder_mode(entry.mode) if is_folder else entry.mode
            self.files[path] = replace(entry, path=path, mode=mode)

    def get(self, path: str, max_bytes: int = MAX_ARCHIVE_BYTES) -> list[FileEntry]:
        self._require()
        path = "/" + "/".join(entry_parts(path))
        budget = Budget(path, max_bytes)
        inside = path + "/"
        found = [self.files[name] for name in sorted(self.files) if name == path or name.startswith(inside)]
        if not found:
            raise PathMissingError(f"{path} was asked for, and is not in the sandbox")
        for entry in found:
            budget.take(len(entry.data or b""))
        return found

    def kill_processes(self) -> int:
        self._require()
        killed = len(self.alive)
        self.alive.clear()
        return killed

    def processes(self) -> list[str]:
        self._require()
        return list(self.alive)

    def counters(self) -> Counters:
        self._require()
        return self.used

    def changed_paths(self) -> list[PathChange]:
        self._require()
        return [PathChange(path, "added") for path in sorted(self.files)]

    def remove(self) -> None:
        self.removed = True

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """What an answer does when the command it stands for writes a file."""
        self.put([FileEntry(path, data, mode=mode)])

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None."""
        entry = self.files.get(path)
        return None if entry is None else entry.data

    def _make_folder(self, path: str) -> None:
        if not self._is_folder(path):
            self._drop(path)
            self.files[path] = FileEntry(path, mode=0o755)

    def _is_folder(self, path: str) -> bool:
        entry = self.files.get(path)
        return entry is not None and entry.data is None and entry.link is None

    def _drop(self, path: str) -> None:
        if self.files.pop(path, None) is not None:
            inside = path + "/"
            for name in [name for name in self.files if name.startswith(inside)]:
                del self.files[name]

    def _require(self) -> None:
        if self.gone or self.removed:
            raise SandboxGoneError(f"sandbox {self._id} was removed from outside while it was in use")


class FakeSidecar:
    """A sidecar in memory: it runs until a test sets `ended` to its state; `printed` is its log."""

    def __init__(self, request: SidecarRequest, sandbox: FakeSandbox) -> None:
        self.request = request
        self.sandbox = sandbox
        self.ended: SidecarState | None = None
        self.printed = ""

    @property
    def name(self) -> str:
        return self.request.name

    @property
    def address(self) -> str | None:
        return None

    def state(self) -> SidecarState:
        gone = self.sandbox.gone or self.sandbox.removed
        return self.ended or SidecarState(not gone)

    def log(self, max_bytes: int = LOG_TAIL_BYTES) -> str:
        return self.printed[-max_bytes:]

    def remove(self) -> None:
        self.sandbox.remove()


class FakeProvider:
    """Makes sandboxes in memory. `answer` decides what commands do; `fail_create` may raise for a request.

    `keep`: remember the sandboxes made, in `made`, and sidecars, in `sidecars`; without it memory does not
    grow with their number. `on_sidecar` may end one, or give it a log. `networks` counts those now held.
    """

    def __init__(
        self,
        answer: Answer = always_succeeds,
        *,
        fail_create: Callable[[SandboxRequest], None] = lambda request: None,
        broken_images: Iterable[str] = (),
        host: HostSnapshot = HOST,
        keep: bool = False,
        on_sidecar: Callable[[FakeSidecar], None] = lambda sidecar: None,
        tries: tuple[Try, ...] = (),
    ) -> None:
        self.sidecars: list[FakeSidecar] = []
        self.networks = 0
        self._on_sidecar = on_sidecar
        self._tries = tries
        self.made: list[FakeSandbox] = []
        self._answer = answer
        self._fail_create = fail_create
        self._broken = frozenset(broken_images)
        self._host = host
        self._keep = keep
        self._numbers = itertools.count(1)

    def host(self) -> HostSnapshot:
        return self._host

    def readings(self) -> HostReadings:
        return HostReadings(load_1m=0.0, steal_share=0.0, neighbours=0)

    def ensure_image(self, source: ImageSource) -> ImageSnapshot:
        name = source.reference or posixpath.normpath(source.dockerfile_dir or "")
        if name in self._broken:
            raise ImageError(f"image of {name} could not be built; the last lines of the output:\nbroken")
        digest = "sha256:" + content_id({"name": name, "layers": list(source.layers)})
        return ImageSnapshot(name, digest, "recipe", digest)

    def create(self, request: SandboxRequest) -> FakeSandbox:
        self._fail_create(request)
        sandbox = FakeSandbox(f"fake-{next(self._numbers):08d}", request, self._answer)
        if self._keep:
            self.made.append(sandbox)
        return sandbox

    def create_sidecar(self, request: SidecarRequest) -> FakeSidecar:
        self._fail_create(request.request)
        sandbox = FakeSandbox(f"fake-{next(self._numbers):08d}", request.request, self._answer)
        sidecar = FakeSidecar(request, sandbox)
        self._on_sidecar(sidecar)
        if self._keep:
            self.sidecars.append(sidecar)
        return sidecar

    @contextlib.contextmanager
    def private_network(self, request: NetworkRequest) -> Iterator[PrivateNetwork]:
        self.networks += 1
        forwarder = "10.0.0.2" if request.wanted.mode == "allowlist" else None
        try:
            yield Joined(f"fake-network-{self.networks}", forwarder, 3128, asked=lambda: self._tries)
        finally:
            self.networks -= 1

    def close(self) -> None:
        """Nothing to close."""


def effective_as_asked(request: SandboxRequest) -> EffectiveResources:
    """What would be in force if everything asked for were."""
    spec, cores = request.resources, ",".join(str(core) for core in request.placement.cores)
    limit = None if spec.memory_limit_mb is None else spec.memory_limit_mb << 20
    return EffectiveResources(
        cpus_quota=None if cores else spec.cpus_limit,
        cpuset=cores or None,
        cpus_allowed=cores or None,
        memory_limit_bytes=limit,
        cgroup_memory_limit_bytes=limit,
        memory_swap_bytes=None if limit is None else limit + (spec.swap_mb << 20),
        pids_limit=spec.pids_limit,
        shm_bytes=spec.shm_mb << 20,
        runtime=request.runtime,
        network=request.network.mode,
    )


def _bounded(data: bytes, limit: int | None) -> Output:
    if limit is None:
        return Output(head=data)
    output = BoundedOutput(limit)
    output.feed(data)
    return output.result()


SUCCESS = answered()
