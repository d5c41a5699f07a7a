"""The controller of a sweep as a detached actor: started in the cluster, started again when it dies.

Ray starts it again on any node for results on an object store; on the head node for a folder, which has to be
one that the head node sees. Its name says the sweep, so that there is one. It ends itself some time after its
last word, so that whoever watches hears it.
"""

import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from orchestrator.execution.bundle import Bundle, Deposited, deposit, fetch
from orchestrator.execution.controller import Controller, Snapshot, Watching
from orchestrator.execution.hands import Reins
from orchestrator.execution.ray_connection import NAMESPACE
from orchestrator.execution.ray_nodes import at_node, head_node
from orchestrator.execution.ray_workers import Outliving, actor_lives, actor_names
from orchestrator.execution.running import Request, run_due
from orchestrator.execution.shipping import cache_folder
from orchestrator.storage.root import Root

PREFIX = "passhat-controller/"
LINGER_S = 60.0
UP_S = 120.0


class ControllerError(RuntimeError):
    """The cluster has no such controller, or has one already."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a controller is told once and keeps over all its starts."""

    location: str
    sweep_id: str
    concurrency: int | None = None
    wave: int | None = None
    wait: bool = True


def outliving(sweep_id: str) -> Outliving:
    return Outliving(f"passhat-worker/{sweep_id}/", PREFIX + sweep_id)


def carry_out(orders: Orders, reins: Reins, watching: Watching) -> int:
    """The whole of a controller's work, from what is kept with the results. Raises what run_due does."""
    config, gate = fetch(Root(orders.location), orders.sweep_id, cache_folder(os.environ))
    request = Request(
        config=config,
        address="auto",
        gate=gate,
        concurrency=orders.concurrency,
        wave=orders.wave,
        wait=orders.wait,
        outliving=outliving(orders.sweep_id),
    )

    def sleep(seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not reins.let_go:
            time.sleep(0.2)

    return run_due(request, lambda: watching, say=watching.say, grip=reins, sleep=sleep)


class ControllerActor:
    """A Controller behind Ray's calls."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._controller = Controller(partial(carry_out, orders))
        self._controller.start(self._at_end)

    def snapshot(self) -> Snapshot:
        return self._controller.snapshot()

    def stop(self, at_once: bool) -> None:
        self._controller.stop(at_once)

    def _at_end(self) -> None:
        last = self._controller.snapshot()
        words = {"state": last.state, "code": last.code, "messages": [text for _, text in last.messages]}
        with contextlib.suppress(OSError):
            path = f"sweeps/{self._orders.sweep_id}/controller.json"
            Root(self._orders.location).write(path, json.dumps(words).encode())
        threading.Event().wait(LINGER_S)
        ray.kill(ray.get_actor(PREFIX + self._orders.sweep_id, namespace=NAMESPACE), no_restart=True)


def submit(location: str, bundle: Bundle, orders: dict[str, Any]) -> tuple[Deposited, Snapshot]:
    """Keep the sweep with its results and start its controller. Raises ControllerError, and what deposit does."""
    head = head_node()
    assert head is not None
    pinned = {"scheduling_strategy": at_node(head)} if "://" not in location else {}
    keep: Any = ray.remote(_deposit)
    try:
        kept: Deposited = ray.get(keep.options(num_cpus=0, max_retries=0, **pinned).remote(location, bundle))
    except RayTaskError as error:
        raise error.cause from None
    as_actor: Any = ray.remote(ControllerActor)
    actor = as_actor.options(
        name=PREFIX + kept.sweep_id,
        namespace=NAMESPACE,
        lifetime="detached",
        max_restarts=-1,
        max_task_retries=0,
        max_concurrency=4,
        num_cpus=0,
        **pinned,
    ).remote(Orders(location, kept.sweep_id, **orders))
    return kept, ray.get(actor.snapshot.remote(), timeout=UP_S)


def _deposit(location: str, bundle: Bundle) -> Deposited:
    return deposit(location, bundle, cache_folder(os.environ), _make_way)


def _make_way(sweep_id: str) -> None:
    """End a controller that has had its last word. Raises ControllerError while one works."""
    if not actor_lives(PREFIX + sweep_id):
        return
    last = ask_snapshot(sweep_id)
    if last is None or not last.over:
        raise ControllerError(
            f"sweep {sweep_id} has a controller in this cluster already; `passhat attach {sweep_id}` shows it"
        )
    ray.kill(ray.get_actor(PREFIX + sweep_id, namespace=NAMESPACE), no_restart=True)


def find_controller(wanted: str | None) -> tuple[str, Any]:
    """(sweep id, handle) of the controller of a sweep, by id or name; of the only one. Raises ControllerError."""
    there = sorted(name.removeprefix(PREFIX) for name in actor_names(PREFIX))
    fitting = [s for s in there if wanted is None or wanted in (s, s.rsplit("-", 1)[0])]
    if len(fitting) != 1:
        asked = f"sweep {wanted}" if wanted else "no sweep by name"
        raise ControllerError(
            f"{asked} was asked for and controllers are here for: {', '.join(there) or 'none'}; name one of these,"
            " or see `passhat status RESULTS` for sweeps that have ended"
        )
    return fitting[0], ray.get_actor(PREFIX + fitting[0], namespace=NAMESPACE)


def ask_snapshot(sweep_id: str, timeout_s: float = 30.0) -> Snapshot | None:
    """None while the controller is being started again. Raises ControllerError when it is gone for good."""
    try:
        actor: Any = ray.get_actor(PREFIX + sweep_id, namespace=NAMESPACE)
    except ValueError:
        raise ControllerError(
            f"sweep {sweep_id} has no controller any more; `passhat status RESULTS` shows what it left"
        ) from None
    try:
        found = ray.get(actor.snapshot.remote(), timeout=timeout_s)
    except RayError:
        return None
    assert isinstance(found, Snapshot)
    return found
