"""When doors and gateways of a cluster end by themselves, and what a door says that cannot be opened."""

import socket
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from orchestrator.config import ConfigError
from orchestrator.execution import model_door
from orchestrator.execution.keeping import LOOK_S, ORPHAN_S, end_when_alone
from orchestrator.execution.model_access import ModelAccess
from orchestrator.execution.model_door import SILENT_LOOKS, Door, wait_until_silent
from orchestrator.models.gateway import GatewayHandle


def test_a_door_ends_after_several_silent_looks_in_a_row_and_not_before() -> None:
    answers = iter([True, False, False, False, True, *[False] * SILENT_LOOKS])
    looks = []

    def connect(address: tuple[str, int], _: float) -> socket.socket:
        looks.append(address)
        if next(answers):
            return socket.socket()
        raise ConnectionRefusedError

    wait_until_silent(("gateway", 1), connect, sleep=lambda _: None)
    assert looks == [("gateway", 1)] * (5 + SILENT_LOOKS)


def test_a_gateway_ends_when_nobody_has_been_there_for_long() -> None:
    clock = SimpleNamespace(now=0.0)
    there = {i: i in (0, 3) for i in range(1000)}
    looks, ended = iter(range(1000)), []

    def sleep(seconds: float) -> None:
        clock.now += seconds

    end_when_alone(
        lambda: there[next(looks)], lambda: ended.append(clock.now), monotonic=lambda: clock.now, sleep=sleep
    )
    assert ended == [pytest.approx(5 * LOOK_S + ORPHAN_S)]


def test_a_node_that_is_not_at_its_engines_addresses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    @contextmanager
    def network(*_: object):
        yield SimpleNamespace(name="passhat-x", host="203.0.113.7")
        closed.append("network")

    @contextmanager
    def provider(_: object):
        yield SimpleNamespace(engine=None)

    monkeypatch.setattr(model_door, "closed_network", network)
    monkeypatch.setattr(model_door, "DockerProvider", SimpleNamespace(from_environment=provider))
    access = ModelAccess(GatewayHandle("http://10.0.0.1:80", None, "10.0.0.1:81", "t"), "sweep", doors=True)
    with pytest.raises(ConfigError, match=f"node {socket.gethostname()} cannot listen .* run Ray on the host itself"):
        Door(access, {})
    assert closed == ["network"]
