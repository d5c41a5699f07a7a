"""The engine that the Docker tests use: found once, skipped where there is none."""

import contextlib
import os

import docker.errors
import pytest

from sandboxes.base import EngineUnavailableError
from sandboxes.bootstrap import BASE_REFERENCE
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


class Recording(DockerProvider):
    """Remembers the names of the images that a test asked for, so that they can be removed."""

    def __init__(self, **options):
        super().__init__(**options)
        self.names = set()

    def ensure_image(self, source):
        image = super().ensure_image(source)
        self.names.add(image.reference)
        return image


@contextlib.contextmanager
def recording(**options):
    """A provider whose images are gone afterwards, but for the base."""
    with Recording(**options) as provider:
        yield provider
        forget(provider, *provider.names - {BASE_REFERENCE})


def forget(provider, *names):
    """Remove images by name, where they are."""
    for name in names:
        with contextlib.suppress(docker.errors.ImageNotFound):
            provider.engine.client.remove_image(name, force=True)
