"""Opens what a worker has on its node, from options that travel to it; and joins workers to a cluster.

The only module that knows which provider, gateway and cluster stand behind the seams.
"""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from orchestrator.agents.settings import AgentDeps, build_agent
from orchestrator.execution.assignment import SweepFacts
from orchestrator.execution.attempt import Place
from orchestrator.execution.cluster import Cluster
from orchestrator.execution.freeze import Frozen, suite_path
from orchestrator.execution.inline_cluster import InlineCluster
from orchestrator.execution.model_access import ModelAccess
from orchestrator.execution.shipping import pack, with_shipped_suite
from orchestrator.execution.worker import Serving, Worker
from orchestrator.storage.dimensions import read_entry
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import hosts_by_wave
from sandboxes.base import SandboxError
from sandboxes.cores import CoreAllocator
from sandboxes.docker import DockerProvider
from sandboxes.docker_engine import DEFAULT_URL
from sandboxes.engine_wait import await_engine
from sandboxes.fake import FakeProvider
from sandboxes.reaper import clear_cores, clear_own, reap
from sandboxes.shared_images import VARIABLE as SHARED_REGISTRY
from sandboxes.snapshot import HostReadings
from sandboxes.start_gate import StartGate

if TYPE_CHECKING:
    from orchestrator.execution.ray_workers import Outliving

OPENING_WAIT_S = 60.0
ON_NODES = ("DOCKER_HOST", "XDG_CACHE_HOME", SHARED_REGISTRY)


@dataclass(frozen=True, slots=True)
class PlaceOptions:
    """provider: "docker" or "fake" (nothing is run; for orchestration alone). `inline`: without Ray.

    `environment`: variables of the driver's environment that workers need (those of ON_NODES).
    `engine_wait_s`: how long an attempt waits for an engine that is away, before it begins.
    """

    provider: str = "docker"
    inline: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    core_wait_s: float = 3600.0
    engine_wait_s: float = 600.0
    models: ModelAccess | None = None


def open_worker(options: PlaceOptions, facts: SweepFacts) -> Worker:
    """A worker on this node. Raises EngineUnavailableError when the engine stays away."""
    environment = {**options.environment, **os.environ}
    make_agent = partial(build_agent, deps=AgentDeps(host_env=environment))
    node = socket.gethostname()
    if options.provider == "fake":
        fake = FakeProvider()
        place = Place(fake, _no_cores, HostReadings, node)
        if options.models is not None:
            place = replace(
                place, endpoint=options.models.endpoint, usage=options.models.usage, judge=options.models.judge
            )
        return Worker(facts, place, make_agent, fake.host())
    heard: list[str] = []
    provider = DockerProvider.from_environment(environment, warn=heard.append)
    await_engine(provider, OPENING_WAIT_S, heard.append)
    allocator = CoreAllocator(clean=lambda cores: clear_cores(provider.engine, cores))
    gate = StartGate(environment.get("DOCKER_HOST") or DEFAULT_URL, say=heard.append)
    place = Place(
        provider,
        partial(_take, allocator, options.core_wait_s),
        provider.readings,
        node,
        await_engine=partial(_ready, provider, facts.sweep_id, options.engine_wait_s, heard.append),
        start_turn=gate.turn,
        heard=heard,
        close=provider.close,
    )
    if options.models is not None:
        place = replace(place, endpoint=options.models.endpoint, usage=options.models.usage, judge=options.models.judge)
        host = urlsplit(options.models.handle.container_url or "").hostname
        place = replace(place, closed_network=options.models.closed_network, gateway_host=host)
    return Worker(facts, place, make_agent, provider.host())


def _ready(provider: DockerProvider, sweep_id: str, timeout_s: float, say: Callable[[str], None], unsure: bool) -> None:
    """Wait for the engine, and take away what an attempt left that failed with it."""
    waited = await_engine(provider, timeout_s, say)
    if waited or unsure:
        try:
            clear_own(provider.engine, sweep_id)
        except SandboxError as error:
            say(f"what an earlier attempt left stays until the sweep's end: {error}")


@contextmanager
def _take(allocator: CoreAllocator, timeout_s: float, count: int) -> Iterator[tuple[int, ...]]:
    with allocator.take(count, timeout_s) as hold:
        yield hold.cores


@contextmanager
def _no_cores(count: int) -> Iterator[tuple[int, ...]]:
    yield tuple(range(count))


def reap_here(options: PlaceOptions) -> int:
    """Remove what dead owners left on this node's engine."""
    if options.provider == "fake":
        return 0
    with DockerProvider.from_environment({**options.environment, **os.environ}) as provider:
        return reap(provider.engine).count


def open_on_node(options: PlaceOptions, suite: object, facts: SweepFacts) -> Serving:
    """A worker on a node of a cluster: what a lost predecessor left is removed before its cores are used, and
    the suite is this node's copy. `suite`: Ray's reference to the packed suite. Raises what open_worker does,
    ShippingError, TaskError, OSError."""
    import ray

    if options.models is not None and options.models.doors:
        from orchestrator.execution.model_door import door_here

        options = replace(options, models=door_here(options.models, options.environment))
    worker = open_worker(options, facts)
    reap_here(options)
    data = ray.get(suite)  # type: ignore[call-overload]
    return with_shipped_suite(worker, data, {**options.environment, **os.environ})


def cluster_opener(
    frozen: Frozen,
    options: PlaceOptions,
    address: str | None,
    cpus: int | None,
    facts: SweepFacts,
    outliving: "Outliving | None" = None,
) -> Callable[[], Cluster]:
    """What opens the cluster when it is known that something is to be run. Joins or starts Ray then.

    `outliving`: the names of workers that go on when this process ends; None: they end with it.
    """
    wanted = {k: v for k in ON_NODES if (v := os.environ.get(k))}
    options = replace(options, environment={**wanted, **options.environment})

    def open_cluster() -> Cluster:
        if options.inline:
            return InlineCluster(open_worker(options, facts))
        if address is None and options.provider == "docker":
            with DockerProvider.from_environment({**options.environment, **os.environ}) as provider:
                provider.host()
        import ray

        from orchestrator.execution.ray_cluster import RayCluster
        from orchestrator.execution.ray_connection import connect

        connect(address, cpus)
        opening: Callable[[SweepFacts], Serving] = partial(open_worker, options)
        if address is not None:
            opening = partial(open_on_node, options, ray.put(pack(suite_path(frozen.config))))
        return RayCluster(opening, facts, partial(reap_here, options), outliving)

    return open_cluster


def environment_changes(root: Root, sweep_id: str, wave: int, options: PlaceOptions) -> list[str]:
    """What of this host differs from every host of the last earlier wave, in words; empty when nothing."""
    if wave == 0 or options.provider == "fake":
        return []
    earlier: dict[int, set[str]] = {}
    for number, host_id in hosts_by_wave(root, sweep_id):
        if number < wave:
            earlier.setdefault(number, set()).add(host_id)
    if not earlier:
        return []
    with DockerProvider.from_environment({**options.environment, **os.environ}) as provider:
        host = provider.host()
    known = earlier[max(earlier)]
    if host.host_id in known:
        return []
    before = read_entry(root, "hosts", min(known))
    changed = [name for name in host.__slots__ if before.get(name) != getattr(host, name)]
    return [f"{name} was {before.get(name)!r} and is now {getattr(host, name)!r}" for name in changed]
