"""The model gateway of a cluster: one for all nodes, so that budget, limits and recordings are one.

It listens at its node's address, in plain HTTP: whoever reads the cluster's network reads what agents say, but no
key, which never leaves the gateway's process. For a run from a terminal it lives in the run's process. For a
submitted sweep it is a detached actor on the controller's node: when the controller dies, requests that are
under way go on, and the next controller finds it by its name.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayError, RayTaskError

from orchestrator.config import ConfigError
from orchestrator.execution.keeping import end_when_alone
from orchestrator.execution.model_access import ModelAccess
from orchestrator.execution.model_door import close_doors, open_doors
from orchestrator.execution.model_service import ModelNeeds, serve_models
from orchestrator.execution.ray_connection import NAMESPACE, connect
from orchestrator.execution.ray_nodes import at_node, node_address
from orchestrator.execution.ray_workers import actor_lives, actor_names
from orchestrator.models.gateway import GatewayError
from orchestrator.storage.remote_journal import ReplacedError

if TYPE_CHECKING:
    from orchestrator.execution.ray_workers import Outliving

PREFIX = "passhat-gateway/"
OPEN_S = 120.0
CLOSE_S = 60.0


class GatewayActor:
    """The gateway of a submitted sweep behind Ray's calls; the key is this node's own."""

    def __init__(self, needs: ModelNeeds, outliving: "Outliving") -> None:
        self._needs = needs
        self._held = ExitStack()
        self._access: ModelAccess | None = None
        self._said: list[str] = []
        lives = partial(_anybody, outliving)
        threading.Thread(target=end_when_alone, args=(lives, self._end), daemon=True).start()

    def open(self) -> tuple[ModelAccess, list[str]]:
        """The way to it, and what is to be said of it; the first call starts it. Raises as serve_models."""
        if self._access is None:
            address = node_address()
            served = serve_models(self._needs, os.environ, self._said.append, address)
            self._access = self._held.enter_context(served)
        return self._access, self._said

    def close(self) -> None:
        self._held.close()
        self._access = None

    def _end(self) -> None:
        """Nobody is left who could note what the usage log tells, so it stays."""
        self._held.__exit__(GatewayError, GatewayError("nobody is left"), None)
        os._exit(0)


def _anybody(outliving: "Outliving") -> bool:
    try:
        return actor_lives(outliving.controller) or bool(actor_names(outliving.prefix))
    except RayError:
        return True


@contextmanager
def serve_in_cluster(
    needs: ModelNeeds,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    address: str,
    outliving: "Outliving | None",
) -> Iterator[ModelAccess]:
    """The way to models for all nodes. Raises ConfigError, ConnectionError, GatewayError, SandboxError."""
    if address.startswith("ray://"):
        raise ConfigError(
            f"agents that ask a model need a gateway inside the cluster, and {address} is joined from outside; use"
            " `passhat submit`, or `passhat run --address auto` on one of its nodes"
        )
    connect(address)
    wanted = {k: v for k in ("DOCKER_HOST",) if (v := environment.get(k))}
    if outliving is None:
        with serve_models(needs, environment, say, node_address()) as access:
            try:
                if access.doors:
                    open_doors(access, wanted)
                yield access
            finally:
                close_doors(access)
        return
    actor, access, said = _gateway_here(needs, outliving)
    for words in said:
        say(words)
    try:
        if access.doors:
            open_doors(access, wanted)
        yield access
    except (OSError, ReplacedError):
        raise  # what runs goes on, and is taken over by the next controller or the one that is there
    except BaseException:
        _close(actor, access)
        raise
    _close(actor, access)


def _gateway_here(needs: ModelNeeds, outliving: "Outliving") -> tuple[Any, ModelAccess, list[str]]:
    """The sweep's gateway, the way to it and what it says; made on this node if none is there that answers."""
    as_actor: Any = ray.remote(GatewayActor)
    options: dict[str, Any] = {"name": PREFIX + needs.sweep_id, "namespace": NAMESPACE, "lifetime": "detached"}
    options |= {"get_if_exists": True, "num_cpus": 0, "max_restarts": 0}
    options["scheduling_strategy"] = at_node(ray.get_runtime_context().get_node_id())
    make = as_actor.options(**options)
    actor = make.remote(needs, outliving)
    try:
        access, said = _opened(actor)
        access.handle.spent_usd()
    except (GatewayError, RayError):
        ray.kill(actor)
        while actor_lives(PREFIX + needs.sweep_id):
            time.sleep(0.1)
        actor = make.remote(needs, outliving)
        access, said = _opened(actor)
    return actor, access, said


def _opened(actor: Any) -> tuple[ModelAccess, list[str]]:
    """Raises what serve_models does; such an actor is of no use and is ended."""
    try:
        access, said = ray.get(actor.open.remote(), timeout=OPEN_S)
    except RayTaskError as error:
        ray.kill(actor)
        raise error.cause from None
    return access, said


def _close(actor: Any, access: ModelAccess) -> None:
    close_doors(access)
    with contextlib.suppress(RayError):
        ray.get(actor.close.remote(), timeout=CLOSE_S)
    ray.kill(actor)
