"""The nodes of a Ray cluster that have an engine: how much they have, and work that each has to do once."""

import functools
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.execution.cluster import Capacity
from orchestrator.execution.ray_connection import DOCKER

MIB = 1024 * 1024
HEAD = "node:__internal_head__"
ASK_S = 60.0

T = TypeVar("T")


def nodes() -> list[dict[str, Any]]:
    """Ray's entries of nodes that live."""
    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def engine_nodes() -> list[dict[str, Any]]:
    return [node for node in nodes() if node["Resources"].get(DOCKER)]


def head_node() -> str | None:
    """The id of the node that holds the cluster together."""
    return next((str(node["NodeID"]) for node in nodes() if HEAD in node["Resources"]), None)


def node_address() -> str:
    """This node's address in its cluster."""
    return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]


def at_node(node_id: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node_id, soft=False)


def draining() -> frozenset[str]:
    """Ids of nodes that are to go: by an autoscaler, a warning of the cloud, or `ray drain-node`.

    Ray starts nothing new on them, and does not say so in `ray.nodes()`; this is where its own Serve asks.
    """
    try:
        found = _gcs(ray.get_runtime_context().gcs_address).get_draining_nodes(timeout=ASK_S)
    except (AttributeError, TypeError, RayError, RuntimeError):
        return frozenset()
    return frozenset(node if isinstance(node, str) else node.hex() for node in found)


@functools.cache
def _gcs(address: str) -> Any:
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    return GcsClient(address=address)


def capacity(leaving: Collection[str] = ()) -> Capacity:
    """All nodes with an engine together, and the largest of them, but for those that are leaving."""
    resources = [node["Resources"] for node in engine_nodes() if node["NodeID"] not in leaving]
    cpus = [float(n.get("CPU", 0.0)) for n in resources]
    memory = [float(n.get("memory", 0.0)) / MIB for n in resources]
    gpus = [float(n.get("GPU", 0.0)) for n in resources]
    largest = (max(cpus, default=0.0), max(memory, default=0.0), max(gpus, default=0.0))
    return Capacity(sum(cpus), sum(memory), sum(gpus), *largest, len(resources))


def on_every_node(do: Callable[[], T], timeout_s: float = ASK_S) -> list[T]:
    """The answers of all nodes with an engine that gave one in time."""
    task: Any = ray.remote(_do)
    options = {"num_cpus": 0, "max_retries": 0}
    refs = [task.options(**options, scheduling_strategy=at_node(node["NodeID"])).remote(do) for node in engine_nodes()]
    done, _ = ray.wait(refs, num_returns=len(refs), timeout=timeout_s) if refs else ([], [])
    answers = []
    for ref in done:
        try:
            answers.append(ray.get(ref))
        except RayError:
            continue
    return answers


def _do(do: Callable[[], T]) -> T:
    return do()
