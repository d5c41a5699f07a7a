"""The provider for Docker engines: host, images, containers. Knows no trial.

The engine is that of this host: cores, counters and files are looked at from outside the container where
this process may, and through the engine where it may not.
"""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sandboxes.allowlist import forwarded
from sandboxes.base import (
    EngineUnavailableError,
    ImageSource,
    NetworkSpec,
    SandboxError,
    SandboxGoneError,
    SandboxRequest,
)
from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker_engine import DEFAULT_URL, ENGINE_TIMEOUT_S, Engine, engine_errors
from sandboxes.docker_options import container_options, sidecar_options
from sandboxes.docker_sandbox import DockerSandbox, remove_container
from sandboxes.docker_sidecar import DockerSidecar
from sandboxes.host import read_host
from sandboxes.host_view import HostView
from sandboxes.images import ImageStore
from sandboxes.labels import ATTEMPT, Owner, sandbox_labels
from sandboxes.locks import DEFAULT_LOCK_FOLDER
from sandboxes.network_pool import NetworkPool
from sandboxes.private_network import Joined, NetworkRequest, PrivateNetwork
from sandboxes.readings import HostMeter
from sandboxes.shared_images import VARIABLE as SHARED_REGISTRY
from sandboxes.shared_images import SharedImages
from sandboxes.sidecar import SidecarRequest, argv_of
from sandboxes.snapshot import HostReadings, HostSnapshot, ImageSnapshot

OWN_KERNELS = ("runsc", "gvisor", "kata", "firecracker")
PING_TIMEOUT_S = 30.0
SIZED_DRIVERS = ("btrfs", "zfs", "devicemapper", "windowsfilter")


class DockerProvider:
    """Makes containers on the engine of this host. Connects at the first use; close it at the end.

    `base`: the image that Dockerfiles get as build argument BASE. `host_access` False: ask the engine
    for everything, as where the host cannot be seen. `say` is told of what takes long: builds, pulls.
    `registry`: a repository that nodes share images by, or None; `warn` is told what does not work with it.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        base: str = BASE_REFERENCE,
        cache_folder: Path | None = None,
        lock_folder: Path = DEFAULT_LOCK_FOLDER,
        host_access: bool = True,
        timeout_s: float = ENGINE_TIMEOUT_S,
        say: Callable[[str], None] = lambda line: None,
        registry: str | None = None,
        warn: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._base_url = base_url
        self._base = base
        self._cache_folder = cache_folder or Path.home() / ".cache" / "passhat"
        self._lock_folder = lock_folder
        self._host_access = host_access
        self._timeout_s = timeout_s
        self._say = say
        self._registry = registry
        self._warn = warn
        self._connected: Engine | None = None
        self._images: ImageStore | None = None
        self._host: HostSnapshot | None = None
        self._disk_limits: bool | None = None
        self._pool: NetworkPool | None = None
        self._owner = Owner.current()
        self._meter = HostMeter()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **options: Any) -> "DockerProvider":
        """A provider as DOCKER_HOST, XDG_CACHE_HOME and PASSHAT_REGISTRY of an environment say."""
        options.setdefault("registry", environment.get(SHARED_REGISTRY) or None)
        cache = environment.get("XDG_CACHE_HOME")
        if cache:
            options.setdefault("cache_folder", Path(cache) / "passhat")
        return cls(environment.get("DOCKER_HOST") or DEFAULT_URL, **options)

    @property
    def engine(self) -> Engine:
        """The connection; raises EngineUnavailableError with what to do about it."""
        if self._connected is None:
            self._connected = Engine(self._base_url, self._timeout_s)
        return self._connected

    @property
    def images(self) -> ImageStore:
        if self._images is None:
            shared = SharedImages(self.engine, self._registry, self._warn) if self._registry else None
            self._images = ImageStore(self.engine, self._base, self._cache_folder, self._lock_folder, self._say, shared)
        return self._images

    def close(self) -> None:
        if self._connected is not None:
            if self._pool is not None:
                self._pool.close()
                self._pool = None
            self._connected.close()
            self._connected = None
            self._images = None

    def __enter__(self) -> "DockerProvider":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ping(self) -> None:
        """Raise EngineUnavailableError unless the engine answers; costs less than a millisecond."""
        status, answer = self.engine.socket.request("GET", "/_ping", None, PING_TIMEOUT_S)
        if status != 200:
            raise EngineUnavailableError(
                f"ask the engine whether it is there: it answers {status} ({answer}); see its log, and restart it"
            )

    def host(self) -> HostSnapshot:
        if self._host is None:
            with engine_errors("ask the engine what it is", self._base_url):
                info, version = self.engine.client.info(), self.engine.client.version()
            self._host = read_host(info, version)
        return self._host

    def readings(self) -> HostReadings:
        """What the host is doing now; steal since this provider's reading before."""
        with engine_errors("count the containers"):
            running = self.engine.client.containers(quiet=True, filters={"label": ATTEMPT})
        return self._meter.read(neighbours=len(running))

    def ensure_image(self, source: ImageSource) -> ImageSnapshot:
        return self.images.ensure(source)

    def create(self, request: SandboxRequest) -> DockerSandbox:
        labels = sandbox_labels(self._owner, request.placement.cores, time.time() + request.deadline_s)
        options = container_options(request, labels, self._sizes_disks(request))
        name = f"passhat-{uuid.uuid4().hex[:16]}"
        try:
            container_id = self._create(name, options, request.image.reference)
            self._join(container_id, request.network)
            self._start(container_id)
            return self._sandbox(container_id, request.image.reference)
        except BaseException:
            self._undo(name)
            raise

    def create_sidecar(self, request: SidecarRequest) -> DockerSidecar:
        wanted = request.request
        labels = sandbox_labels(self._owner, wanted.placement.cores, time.time() + wanted.deadline_s)
        argv = self._argv(request)
        options = container_options(wanted, labels, self._sizes_disks(wanted))
        options = sidecar_options(options, argv, request.program.user, request.program.workdir, wanted.deadline_s)
        name = f"passhat-{uuid.uuid4().hex[:16]}"
        try:
            container_id = self._create(name, options, wanted.image.reference)
            self._join(container_id, wanted.network)
            self._start(container_id)
            return self._sidecar(request, container_id)
        except BaseException:
            self._undo(name)
            raise

    @contextlib.contextmanager
    def private_network(self, request: NetworkRequest) -> Iterator[PrivateNetwork]:
        if self._pool is None:
            self._pool = NetworkPool(self.engine, self._owner, self._lock_folder)
        with self._pool.take(request.wait_s) as name:
            if request.wanted.mode != "allowlist":
                yield Joined(name)
                return
            image = self.images.ensure_base(self._base)
            address = self._pool.first_address(name)
            with forwarded(request, name, address, image, self.create_sidecar, _poll) as joined:
                yield joined

    def _argv(self, request: SidecarRequest) -> tuple[str, ...]:
        image = request.request.image
        with engine_errors(f"look at image {image.reference}", self._base_url):
            found = self.engine.client.inspect_image(image.engine_id)  # type: ignore[no-untyped-call]
        config = found.get("Config") or {}
        argv = argv_of(request.program, config.get("Entrypoint"), config.get("Cmd"))
        if not argv:
            raise SandboxError(
                f"service {request.name}: neither the task nor image {image.reference} says what it runs: give it a command"
            )
        return argv

    def _sidecar(self, request: SidecarRequest, container_id: str) -> DockerSidecar:
        """The started sidecar; it may have ended by now, with its log still there."""
        inspected = self.engine.inspect(container_id)
        sandbox = None
        if inspected["State"]["Pid"]:
            view = self._view(int(inspected["State"]["Pid"]), inspected)
            with contextlib.suppress(SandboxGoneError):
                sandbox = DockerSandbox(self.engine, inspected, view, pid_1=None)
            if sandbox is None and view is not None:
                view.close()
        return DockerSidecar(self.engine, request.name, inspected, sandbox)

    def _join(self, container_id: str, network: NetworkSpec) -> None:
        for name in network.also:
            with engine_errors(f"connect container {container_id[:12]} with network {name}", self._base_url):
                self.engine.client.connect_container_to_network(container_id, name)

    def _create(self, name: str, options: dict[str, Any], image: str) -> str:
        with engine_errors(f"create a container of {image}", self._base_url):
            answer = self.engine.client.create_container_from_config(  # type: ignore[no-untyped-call]
                options, name
            )
        return str(answer["Id"])

    def _start(self, container_id: str) -> None:
        with engine_errors(f"start container {container_id[:12]}", self._base_url):
            self.engine.client.start(container_id)

    def _sandbox(self, container_id: str, image: str) -> DockerSandbox:
        try:
            inspected = self.engine.inspect(container_id)
            pid = int(inspected["State"]["Pid"])
        except SandboxGoneError:
            pid = 0
        if not pid:
            raise SandboxError(
                f"container {container_id[:12]} of {image} ended as soon as it was started: the image needs"
                " /bin/sh and sleep, and the memory limit must leave room to start"
            )
        view = self._view(pid, inspected)
        try:
            return DockerSandbox(self.engine, inspected, view)
        except BaseException:
            if view is not None:
                view.close()
            raise

    def _view(self, pid: int, inspected: dict[str, Any]) -> HostView | None:
        """The view from the host, where the runtime runs the container on the host's own kernel."""
        runtime = str(inspected["HostConfig"].get("Runtime") or "")
        if not self._host_access or any(word in runtime.lower() for word in OWN_KERNELS):
            return None
        return HostView.open(pid, str(inspected["Id"]))

    def _undo(self, name: str) -> None:
        """Remove what a failed create may have left; by its name, as its id may never have arrived."""
        with contextlib.suppress(SandboxError):
            remove_container(self.engine, name)

    def _sizes_disks(self, request: SandboxRequest) -> bool:
        if request.resources.disk_mb is None:
            return False
        if self._disk_limits is None:
            with engine_errors("ask the engine for its storage driver", self._base_url):
                info = self.engine.client.info()
            status = dict(item for item in info.get("DriverStatus") or [] if len(item) == 2)
            on_xfs = info["Driver"] == "overlay2" and status.get("Backing Filesystem") == "xfs"
            self._disk_limits = info["Driver"] in SIZED_DRIVERS or on_xfs
        return self._disk_limits


def _poll(holds: Callable[[], bool], timeout_s: float) -> bool:
    give_up = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True
