"""The pool of private networks on a real engine: bounded, reused, emptied, and gone with its owner."""

import subprocess
import sys
import uuid

import pytest

from sandboxes.base import NetworkSpec, SandboxError
from sandboxes.labels import OWNER, Owner
from sandboxes.network_pool import POOL, NetworkPool
from sandboxes.private_network import Joined
from sandboxes.reaper import reap

pytestmark = pytest.mark.docker


@pytest.fixture
def pool(provider, tmp_path, monkeypatch):
    monkeypatch.setattr("sandboxes.network_pool.PREFIX", f"passhat-test-{uuid.uuid4().hex[:8]}")
    made = NetworkPool(provider.engine, Owner.current(), tmp_path, size=2)
    yield made
    made.close()


def labelled(provider):
    found = provider.engine.client.networks(filters={"label": [POOL, f"{OWNER}={Owner.current().encode()}"]})
    return {item["Name"]: item["Id"] for item in found}


def test_no_more_networks_than_places_and_one_is_used_again(pool, provider):
    with pool.take(0.0) as first, pool.take(0.0) as second:
        assert first != second
        before = labelled(provider)
        with pytest.raises(SandboxError, match="none of 2 became free"), pool.take(0.2):
            pass
    with pool.take(0.0) as again:
        assert again in (first, second)
    assert labelled(provider) == before
    pool.close()
    assert not set(before) & set(labelled(provider))


def test_what_is_left_on_a_network_is_gone_for_the_next(pool, provider, make):
    with pool.take(0.0) as name:
        left = make(network=Joined(name).joined(NetworkSpec("none"), ("left",)))
        assert list(provider.engine.client.inspect_network(name)["Containers"]) == [left.sandbox_id]
    assert provider.engine.client.inspect_network(name)["Containers"] == {}


KILLED = """
import os, signal, sys, pathlib
import sandboxes.network_pool as pool
from sandboxes.docker_engine import Engine
from sandboxes.labels import Owner
pool.PREFIX = sys.argv[1]
held = pool.NetworkPool(Engine(), Owner.current(), pathlib.Path(sys.argv[2])).take(1.0)
print(held.__enter__(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("who", ["the reaper", "the next process"])
def test_the_network_of_a_process_that_was_killed_goes(provider, tmp_path, monkeypatch, who):
    prefix = f"passhat-test-{uuid.uuid4().hex[:8]}"
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, prefix, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    (found,) = provider.engine.client.networks(names=[ran.stdout.strip()])
    if who == "the reaper":
        assert found["Id"] in reap(provider.engine).networks
    else:
        monkeypatch.setattr("sandboxes.network_pool.PREFIX", prefix)
        pool = NetworkPool(provider.engine, Owner.current(), tmp_path)
        with pool.take(1.0) as name:
            (fresh,) = provider.engine.client.networks(names=[name])
            assert fresh["Id"] != found["Id"]
        pool.close()
    assert found["Id"] not in {item["Id"] for item in provider.engine.client.networks()}
