"""Providers and sandboxes on the real engine; everything made here is labelled and removed."""

import pytest

from sandboxes.base import ImageSource
from sandboxes.bootstrap import BASE_REFERENCE
from tests.contract.sandbox_contract import request_for
from tests.integration.sandboxes.engine import open_provider


@pytest.fixture(scope="session")
def seen_from_the_host():
    with open_provider() as provider:
        yield provider


@pytest.fixture(scope="session")
def through_the_engine():
    with open_provider(host_access=False) as provider:
        yield provider


@pytest.fixture(params=["seen_from_the_host", "through_the_engine"])
def provider(request):
    """Both ways to look at a container."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def base_image(seen_from_the_host):
    return seen_from_the_host.ensure_image(ImageSource(reference=BASE_REFERENCE))


@pytest.fixture
def make(provider, base_image):
    """Makes sandboxes of the base image, with changes to the request, and removes them."""
    made = []

    def create(**changes):
        sandbox = provider.create(request_for(base_image, **changes))
        made.append(sandbox)
        return sandbox

    yield create
    for sandbox in made:
        sandbox.remove()


@pytest.fixture
def sandbox(make):
    return make()
