"""One closed network per run: its containers reach this host's address on it, and nothing else, not each other.

Made once by the process that owns a model gateway, never per trial; labelled with its owner, so that the
reaper removes it when that process is killed.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sandboxes.docker_engine import Engine, engine_errors
from sandboxes.labels import SWEEP, Owner, sandbox_labels

LIFETIME_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class ClosedNetwork:
    """name: for NetworkSpec.network_name; host: this host's address on it."""

    name: str
    host: str


@contextmanager
def closed_network(engine: Engine, sweep_id: str) -> Iterator[ClosedNetwork]:
    """An internal network without a way out, removed at the end. Raises SandboxError."""
    name = f"passhat-{secrets.token_hex(6)}"
    labels = {SWEEP: sweep_id, **sandbox_labels(Owner.current(), (), time.time() + LIFETIME_S)}
    options = {"com.docker.network.bridge.enable_icc": "false"}
    with engine_errors("make a closed network for the model gateway"):
        engine.client.create_network(name, driver="bridge", internal=True, options=options, labels=labels)
    try:
        with engine_errors("look at the closed network"):
            host = engine.client.inspect_network(name)["IPAM"]["Config"][0]["Gateway"]
        yield ClosedNetwork(name, str(host))
    finally:
        with engine_errors("remove the closed network"):
            engine.client.remove_network(name)
