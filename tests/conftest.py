"""What all tests share: where there is no engine or no Ray, tests that need them say so or fail; the base images."""

import functools
import importlib.util
import os

import pytest

from sandboxes.base import EngineUnavailableError, ImageSource
from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider
from tests.integration.sandboxes.engine import open_provider

REQUIRED = "PASSHAT_REQUIRE_DOCKER"
CONFORMANCE = ("conformance-base", "latest")


@functools.cache
def missing_engine() -> str | None:
    """Why no engine can be used here; None where one answers."""
    try:
        with DockerProvider.from_environment(os.environ) as provider:
            provider.host()
    except EngineUnavailableError as error:
        return str(error)
    return None


@functools.cache
def missing_ray() -> str | None:
    """Why Ray cannot be started here; None where it is installed."""
    return None if importlib.util.find_spec("ray") else "the package ray is not installed"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before fixtures: skip what cannot run here, or fail it where the environment says that it must run."""
    for marker, find in (("docker", missing_engine), ("ray", missing_ray)):
        if item.get_closest_marker(marker) is None:
            continue
        reason = find()
        if reason and os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set and this test cannot run: {reason}", pytrace=False)
        elif reason:
            pytest.skip(reason)


@pytest.fixture(scope="session")
def conformance_image() -> str:
    """The base image under the name that the probe tasks ask for."""
    with open_provider() as provider:
        image = provider.ensure_image(ImageSource(reference=BASE_REFERENCE))
        provider.engine.client.tag(image.engine_id, *CONFORMANCE, force=True)
    return ":".join(CONFORMANCE)
