"""A bounded number of internal networks per engine, each used by one attempt at a time. Knows no trial.

An engine has room for about thirty networks, and each takes a quarter of a second to make and remove. So
ordinary trials have none; those that need one take it from here. A place in the pool is a file lock on
the host, so that at most POOL_SIZE networks are there whatever the number of processes and sweeps, a
process that dies gives its place back, and whoever waits is served. A network stays for the next attempt
of the same process, which finds it empty; it carries its owner's label, so it goes with the process: when
the provider is closed, by the reaper, or by whoever takes the place next.
No address of the host is on these networks: those on them reach each other and nothing else.
"""

import contextlib
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker.errors

from sandboxes.base import SandboxError
from sandboxes.docker_engine import Engine, engine_errors
from sandboxes.docker_sandbox import remove_container
from sandboxes.labels import OWNER, Owner, sandbox_labels
from sandboxes.locks import FileLock

POOL_SIZE = 12
POOL = "passhat.pool"
PREFIX = "passhat-pool"
LIFETIME_S = 30 * 86_400.0
POLL_S = 0.1
OPTIONS = {"com.docker.network.bridge.inhibit_ipv4": "true"}


class NetworkPool:
    """The networks of one process on one engine. Safe beside other processes with the same lock folder."""

    def __init__(self, engine: Engine, owner: Owner, lock_folder: Path, size: int = POOL_SIZE) -> None:
        self._engine = engine
        self._owner = owner.encode()
        self._labels = sandbox_labels(owner, (), time.time() + LIFETIME_S)
        key = hashlib.sha256(engine.base_url.encode()).hexdigest()[:8]
        self._folder = lock_folder / "networks" / key
        self._size = size

    @contextlib.contextmanager
    def take(self, wait_s: float) -> Iterator[str]:
        """The name of an empty network, this attempt's alone for the block. Raises SandboxError."""
        place, lock = self._place(wait_s)
        try:
            name = self._ready(place)
            yield name
            self._empty(name)
        finally:
            lock.release()

    def first_address(self, name: str) -> str:
        """An address of a network that no container has."""
        with engine_errors(f"look at network {name}"):
            return str(self._engine.client.inspect_network(name)["IPAM"]["Config"][0]["Gateway"])

    def close(self) -> None:
        """Remove this process's networks; what is still in use is left to the reaper."""
        wanted = {"label": [f"{OWNER}={self._owner}", POOL]}
        with contextlib.suppress(SandboxError), engine_errors("list the networks of the pool"):
            for item in self._engine.client.networks(filters=wanted):
                with contextlib.suppress(SandboxError), engine_errors("remove a network of the pool"):
                    self._engine.client.remove_network(item["Id"])

    def _place(self, wait_s: float) -> tuple[int, FileLock]:
        give_up = time.monotonic() + wait_s
        while True:
            for place in range(self._size):
                lock = FileLock(self._folder / f"network-{place}")
                if lock.try_take(self._owner + "\n"):
                    return place, lock
            if time.monotonic() > give_up:
                raise SandboxError(
                    f"a private network was asked for, and within {wait_s:.0f} s none of {self._size} became free:"
                    f" see who holds them in {self._folder}, or run fewer such trials at once"
                )
            time.sleep(POLL_S)

    def _ready(self, place: int) -> str:
        """Make the network of a place, or use this process's own from before."""
        name = f"{PREFIX}-{place}"
        for found in self._named(name):
            self._empty(found["Id"])
            if (found.get("Labels") or {}).get(OWNER) == self._owner:
                return name
            with engine_errors(f"remove the old network {name}"), contextlib.suppress(docker.errors.NotFound):
                self._engine.client.remove_network(found["Id"])
        with engine_errors(f"make the private network {name}"):
            self._engine.client.create_network(
                name, driver="bridge", internal=True, options=OPTIONS, labels={**self._labels, POOL: str(place)}
            )
        return name

    def _named(self, name: str) -> list[dict[str, Any]]:
        with engine_errors(f"look for network {name}"):
            return [item for item in self._engine.client.networks(names=[name]) if item["Name"] == name]

    def _empty(self, network: str) -> None:
        """Take off what is still on a network: nobody but the holder of its place may be there."""
        client = self._engine.client
        with engine_errors(f"look who is on network {network[:20]}"):
            try:
                held = client.inspect_network(network).get("Containers") or {}
            except docker.errors.NotFound:
                return
        ours = self._ours() if held else set()
        for container_id in held:
            if container_id in ours:
                remove_container(self._engine, container_id)
            else:
                with engine_errors(f"disconnect container {container_id[:12]}"):
                    client.disconnect_container_from_network(container_id, network, force=True)

    def _ours(self) -> set[str]:
        with engine_errors(f"list containers with the label {OWNER}"):
            return {item["Id"] for item in self._engine.client.containers(all=True, filters={"label": OWNER})}
