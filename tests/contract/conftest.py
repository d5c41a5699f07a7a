"""One Ray on this machine for the tests of a module that asks for it."""

from collections.abc import Iterator

import pytest
import ray

from orchestrator.execution.ray_connection import connect


@pytest.fixture(scope="module")
def joined() -> Iterator[None]:
    connect(None, cpus=2)
    yield
    ray.shutdown()
