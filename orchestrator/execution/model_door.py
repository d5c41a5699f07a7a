"""A node's door to the model gateway of its cluster: for agents in containers, which reach no other node.

One for each node and gateway, as a detached actor that whoever comes first makes: a closed network of the node's
engine, and a relay from this host's address on it to the gateway. It goes with the gateway: closed at the end
of the run, and by itself when the gateway has not answered for some time.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from orchestrator.config import ConfigError
from orchestrator.execution.model_access import ModelAccess
from orchestrator.execution.ray_connection import NAMESPACE
from orchestrator.execution.ray_nodes import at_node, engine_nodes
from orchestrator.execution.ray_workers import named_actors
from sandboxes.closed_network import closed_network
from sandboxes.docker import DockerProvider
from sandboxes.relay import Relay

LOOK_S = 30.0
SILENT_LOOKS = 4
OPEN_S = 120.0


def prefix(access: ModelAccess) -> str:
    return f"passhat-door/{access.handle.identity}/"


class Door:
    """The network and the relay. Raises ConfigError where this process is not at the engine's addresses."""

    def __init__(self, access: ModelAccess, environment: Mapping[str, str]) -> None:
        self._held = ExitStack()
        try:
            provider = self._held.enter_context(DockerProvider.from_environment(environment))
            closed = self._held.enter_context(closed_network(provider.engine, access.sweep_id))
            relay = self._held.enter_context(Relay(closed.host, access.handle.address))
        except OSError as error:
            self._held.close()
            raise ConfigError(
                f"an agent in a container asks a model, and node {socket.gethostname()} cannot listen where its"
                f" engine's containers would reach it ({error}); run Ray on the host itself or beside an engine in"
                " the same pod, or use an agent that runs outside of the container"
            ) from None
        except BaseException:
            self._held.close()
            raise
        self.network, self.url = closed.name, f"http://{closed.host}:{relay.port}"

    def close(self) -> None:
        self._held.close()


class DoorActor:
    """A Door behind Ray's calls."""

    def __init__(self, access: ModelAccess, environment: Mapping[str, str]) -> None:
        self._access, self._environment = access, environment
        self._lock = threading.Lock()
        self._door: Door | None = None

    def open(self) -> tuple[str, str]:
        """(network, url); the first call opens it. Raises ConfigError, SandboxError."""
        with self._lock:
            if self._door is None:
                self._door = Door(self._access, {**self._environment, **os.environ})
                threading.Thread(target=self._watch, daemon=True).start()
            return self._door.network, self._door.url

    def close(self) -> None:
        with self._lock:
            if self._door is not None:
                self._door.close()
                self._door = None

    def _watch(self) -> None:
        wait_until_silent(self._access.handle.address)
        self.close()
        os._exit(0)


def wait_until_silent(
    address: tuple[str, int],
    connect: Callable[[tuple[str, int], float], socket.socket] = socket.create_connection,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Return when nobody has answered there at several looks in a row."""
    silent = 0
    while silent < SILENT_LOOKS:
        sleep(LOOK_S)
        try:
            connect(address, LOOK_S).close()
            silent = 0
        except OSError:
            silent += 1


def door_at(node_id: str, access: ModelAccess, environment: Mapping[str, str]) -> Any:
    """The actor of a node, made if it is not there."""
    as_actor: Any = ray.remote(DoorActor)
    options: dict[str, Any] = {"name": prefix(access) + node_id, "namespace": NAMESPACE, "lifetime": "detached"}
    options |= {"get_if_exists": True, "num_cpus": 0, "max_concurrency": 4, "scheduling_strategy": at_node(node_id)}
    return as_actor.options(**options).remote(access, dict(environment))


def door_here(access: ModelAccess, environment: Mapping[str, str]) -> ModelAccess:
    """As containers of this node reach the gateway. Raises ConfigError, SandboxError."""
    actor = door_at(ray.get_runtime_context().get_node_id(), access, environment)
    return access.through(*_opened(actor))


def open_doors(access: ModelAccess, environment: Mapping[str, str]) -> None:
    """On every node that is there, so that what cannot be is known before a trial begins. Raises as door_here."""
    for actor in [door_at(node["NodeID"], access, environment) for node in engine_nodes()]:
        _opened(actor)


def close_doors(access: ModelAccess) -> None:
    """Remove the networks and end the actors. What does not answer is left to its own watch and to the reaper."""
    actors = named_actors(prefix(access))
    with contextlib.suppress(RayError):
        ray.wait([actor.close.remote() for actor in actors], num_returns=len(actors), timeout=LOOK_S)
    for actor in actors:
        ray.kill(actor)


def _opened(actor: Any) -> tuple[str, str]:
    try:
        network, url = ray.get(actor.open.remote(), timeout=OPEN_S)
    except RayTaskError as error:
        raise error.cause from None
    return str(network), str(url)
