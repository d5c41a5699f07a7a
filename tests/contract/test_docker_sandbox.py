"""Docker containers keep the sandbox contract, seen from the host and through the engine alone."""

import pytest

from tests.contract.sandbox_contract import SandboxContract
from tests.integration.sandboxes.engine import open_provider

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def seen_from_the_host():
    with open_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def through_the_engine():
    with open_provider(host_access=False) as provider:
        yield provider


class TestDockerSandbox(SandboxContract):
    @pytest.fixture
    def provider(self, seen_from_the_host):
        return seen_from_the_host


class TestDockerSandboxThroughTheEngineAlone(SandboxContract):
    @pytest.fixture
    def provider(self, through_the_engine):
        return through_the_engine
