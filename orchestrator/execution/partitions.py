"""Spreads the reading of partitions over a Ray cluster; the aggregation itself does not know of it."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import ray

from orchestrator.execution.ray_connection import connect

Part = TypeVar("Part")
Found = TypeVar("Found")


def map_partitions(address: str) -> Callable[[Callable[[Part], Found], list[Part]], Iterable[Found]]:
    """A mapper that calls a function on each part somewhere in the cluster and gives results in order.

    `address`: a cluster to join, or "local" to start one here. Raises ConnectionError.
    """

    def run(work: Callable[[Part], Found], parts: list[Part]) -> Iterable[Found]:
        if not ray.is_initialized():
            connect(None if address == "local" else address)
        task: Any = ray.remote(_apply)  # Ray takes functions, and `work` may be a partial one
        shipped = [task.options(num_cpus=1).remote(work, part) for part in parts]
        for reference in shipped:
            yield ray.get(reference)

    return run


def _apply(work: Callable[[Part], Found], part: Part) -> Found:
    return work(part)
