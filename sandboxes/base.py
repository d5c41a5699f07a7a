"""The seam between a trial and the place where it runs: what a sandbox can do and what may go wrong.

A provider makes sandboxes; a sandbox runs commands, takes and gives files, and is removed. Every
implementation passes the same contract tests (tests/contract/sandbox_contract.py). Nothing here knows
what a task is, or which engine stands behind the seam.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sandboxes.resources import Counters, EffectiveResources, Placement, ResourceSpec
from sandboxes.snapshot import HostSnapshot, ImageSnapshot

if TYPE_CHECKING:
    from sandboxes.private_network import NetworkRequest, PrivateNetwork
    from sandboxes.sidecar import Sidecar, SidecarRequest

MAX_OUTPUT_BYTES = 1_000_000
MAX_ARCHIVE_BYTES = 256_000_000


class SandboxError(RuntimeError):
    """The place failed, not what ran in it: origin infrastructure."""


class EngineUnavailableError(SandboxError, ConnectionError):
    """The engine does not answer, or may not be used by this user."""


class SandboxGoneError(SandboxError):
    """The container was removed, stopped or paused from outside while it was in use."""


class ImageError(SandboxError):
    """An image could not be built or pulled; the message ends with the last lines of the output."""


class PathMissingError(SandboxError, FileNotFoundError):
    """A path that was asked for is not in the sandbox."""


class TooLargeError(SandboxError, ValueError):
    """An archive is larger, or unpacks to more, than the caller allowed."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command to run inside a sandbox.

    `argv` is run without a shell. `user` None: the image's. `workdir` None: the image's. With
    `clean_env` nothing of the image's or the container's environment is seen, only `env`. `timeout_s`
    None waits for ever (bounded by the sandbox's own deadline). Of each output stream at most
    `max_output_bytes` are kept, half from its head and half from its tail.
    """

    argv: tuple[str, ...]
    user: str | None = None
    workdir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    clean_env: bool = False
    timeout_s: float | None = None
    max_output_bytes: int = MAX_OUTPUT_BYTES


@dataclass(frozen=True, slots=True)
class Output:
    """What is kept of a stream: its head, its tail, and how many bytes between them were dropped."""

    head: bytes = b""
    tail: bytes = b""
    dropped_bytes: int = 0

    @property
    def data(self) -> bytes:
        """Head and tail with a line between them that says how much is missing."""
        if not self.dropped_bytes:
            return self.head + self.tail
        return self.head + f"\n[... {self.dropped_bytes} bytes dropped ...]\n".encode() + self.tail

    def text(self) -> str:
        return self.data.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended.

    `exit_code` is None exactly when the command did not end by itself within its timeout; then the
    command and its descendants were sent SIGKILL, though what daemonised itself may live on until
    `Sandbox.kill_processes`. 137 without a counted OOM kill is not an OOM. A command that could not be
    started (no such program, no such user) has exit code 126 or 127 and the engine's words on stderr.
    """

    exit_code: int | None
    stdout: Output
    stderr: Output
    duration_s: float

    @property
    def timed_out(self) -> bool:
        return self.exit_code is None


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file, folder (`data` None, `link` None) or symbolic link to put into a sandbox."""

    path: str
    data: bytes | None = None
    link: str | None = None
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True, slots=True)
class PathChange:
    """One line of the engine's diff against the image: kind is "changed", "added" or "deleted"."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class ImageSource:
    """Where a sandbox's image comes from: exactly one of `reference` and `dockerfile_dir`.

    `reference`: a name with tag or digest, used as it is when the engine has it, else pulled.
    `dockerfile_dir`: a build context on this host with a Dockerfile; `wheels` names a pip requirements
    file with hashes whose wheels are put into the context as `wheels/`. `layers` are extra Dockerfile
    lines built on top (an agent's installation), cached as an image of their own.
    """

    reference: str | None = None
    dockerfile_dir: str | None = None
    build_args: Mapping[str, str] = field(default_factory=dict)
    wheels: str | None = None
    layers: tuple[str, ...] = ()
    build_timeout_s: float = 600.0
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """Who a sandbox can reach: "none", "public", or "allowlist" with the hosts (see `allowed_hosts`).

    `gateway_url`: a model gateway on this node that must stay reachable even with mode "none", or None.
    `network_name`: an engine network to join instead (see sandboxes.private_network), or None; `aliases` are
    the names under which others on it find the sandbox, `also` are further engine networks to join, and
    `resolver` is the address asked for every name that is not on it (None: whom the host asks).
    """

    mode: str = "none"
    allowed_hosts: tuple[str, ...] = ()
    gateway_url: str | None = None
    network_name: str | None = None
    aliases: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    resolver: str | None = None


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """Everything that decides what container is made.

    `labels` name sweep and attempt; the provider adds owner, cores and deadline. `tmpfs` are folders
    kept in memory, writable also with `read_only`.
    """

    image: ImageSnapshot
    resources: ResourceSpec
    placement: Placement
    labels: Mapping[str, str]
    deadline_s: float
    network: NetworkSpec = field(default_factory=NetworkSpec)
    env: Mapping[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    read_only: bool = False
    tmpfs: tuple[str, ...] = ()
    runtime: str | None = None
    hostname: str | None = None


class Sandbox(Protocol):
    """One running place. Used by one thread at a time.

    Every method raises SandboxGoneError when the place no longer exists or cannot run anything, and
    EngineUnavailableError when the engine does not answer; nothing else is infrastructure.
    """

    @property
    def sandbox_id(self) -> str:
        """The engine's id of the place."""
        ...

    @property
    def effective(self) -> EffectiveResources:
        """What is in force, read back from the engine and from inside after the start."""
        ...

    def exec(self, command: Command) -> ExecResult:
        """Run a command to its end or its timeout. A failing command is a result, not an error."""
        ...

    def put(self, entries: Iterable[FileEntry]) -> None:
        """Write entries, parents first; existing files and links of the same path are replaced."""
        ...

    def get(self, path: str, max_bytes: int = MAX_ARCHIVE_BYTES) -> list[FileEntry]:
        """Read a file or a folder (recursively) as entries with absolute paths.

        Devices, fifos and sockets are left out; links are returned as links and never followed.
        Raises PathMissingError, and TooLargeError as soon as more than `max_bytes` would be read
        (sparse files count with their apparent size).
        """
        ...

    def kill_processes(self) -> int:
        """Kill everything but PID 1, also what daemonised itself, check, and return how many died."""
        ...

    def processes(self) -> list[str]:
        """Command lines of everything alive in the sandbox but PID 1."""
        ...

    def counters(self) -> Counters:
        """Peak memory, OOM kills, throttling and so on up to now; null where it cannot be read."""
        ...

    def changed_paths(self) -> list[PathChange]:
        """What differs from the image (slow: up to 1.5 s; only where something is decided by it)."""
        ...

    def remove(self) -> None:
        """Kill and remove the place with its anonymous volumes. Removing twice is fine."""
        ...


class SandboxProvider(Protocol):
    """Makes sandboxes on this host. Safe to use from several processes at once."""

    def host(self) -> HostSnapshot:
        """The constants of this host, read once."""
        ...

    def ensure_image(self, source: ImageSource) -> ImageSnapshot:
        """Build or pull once per host and content (others wait for the one that builds), or reuse.

        Raises ImageError with the last lines of the output.
        """
        ...

    def create(self, request: SandboxRequest) -> Sandbox:
        """Create and start a container as requested.

        Raises SandboxError; nothing is left behind when it raises.
        """
        ...

    def create_sidecar(self, request: "SidecarRequest") -> "Sidecar":
        """Create and start a program beside a sandbox; one that ends at once is a sidecar, too.

        Raises SandboxError; nothing is left behind when it raises.
        """
        ...

    def private_network(self, request: "NetworkRequest") -> AbstractContextManager["PrivateNetwork"]:
        """A network of its own for the block, waiting until one is free. Raises SandboxError."""
        ...
