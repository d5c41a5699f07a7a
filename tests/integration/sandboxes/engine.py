"""The engine that the Docker tests use: found once, skipped where there is none."""

import os

import pytest

from sandboxes.base import EngineUnavailableError
from sandboxes.docker import DockerProvider


def open_provider(**options) -> DockerProvider:
    """A connected provider; the test is skipped without an engine, and fails where CI needs one."""
    provider = DockerProvider(**options)
    try:
        assert provider.engine is not None
    except EngineUnavailableError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs an engine: {error}")
        pytest.skip(str(error))
    return provider
