"""What a private network is to those on it: names of their own, and who else can be reached. Pure.

A trial has one when it has sidecars, or when it may reach only named hosts. It is an internal network of
the engine: no way out, no way in, and no address of this host on it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from sandboxes.base import NetworkSpec

NOBODY = "127.0.0.1"
"""As a resolver: asked for a name outside, the container asks itself, where nobody answers."""


@dataclass(frozen=True, slots=True)
class NetworkRequest:
    """A network for one attempt. `wanted` is what the task may reach; `labels` name sweep and attempt.

    `wait_s`: how long to wait for a free network, as there is a bounded number of them.
    """

    wanted: NetworkSpec
    labels: Mapping[str, str]
    deadline_s: float
    wait_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Try:
    """Somebody on a network with an allowlist asked for a host. `port` None: its name was looked up."""

    host: str
    port: int | None
    allowed: bool
    count: int = 1

    def line(self) -> str:
        """As on the row: `host:port x3`."""
        place = self.host if self.port is None else f"{self.host}:{self.port}"
        return place if self.count == 1 else f"{place} x{self.count}"


class PrivateNetwork(Protocol):
    """One network, held by one attempt."""

    def joined(self, wanted: NetworkSpec, aliases: Iterable[str]) -> NetworkSpec:
        """The spec for a container that joins it under these names."""
        ...

    def env(self, names: Iterable[str]) -> dict[str, str]:
        """Variables for programs that ask for a proxy; `names` on the network are reached without one."""
        ...

    def tries(self) -> tuple[Try, ...]:
        """What was asked for so far; empty without an allowlist. Raises SandboxError."""
        ...


@dataclass(frozen=True, slots=True)
class Joined:
    """How containers join an engine network.

    `forwarder`: the address of what lets named hosts through; `asked` says what it was asked for.
    """

    name: str
    forwarder: str | None = None
    proxy_port: int | None = None
    asked: Callable[[], tuple[Try, ...]] = tuple

    def joined(self, wanted: NetworkSpec, aliases: Iterable[str]) -> NetworkSpec:
        also = (*wanted.also, *(("bridge",) if wanted.mode == "public" else ()))
        resolver = self.forwarder if wanted.mode == "allowlist" else NOBODY if wanted.mode == "none" else None
        return replace(wanted, network_name=self.name, aliases=tuple(aliases), also=also, resolver=resolver)

    def env(self, names: Iterable[str]) -> dict[str, str]:
        if self.forwarder is None:
            return {}
        url = f"http://{self.forwarder}:{self.proxy_port}"
        direct = ",".join(("localhost", "127.0.0.1", *names))
        found = {"http_proxy": url, "https_proxy": url, "no_proxy": direct}
        return {**found, **{name.upper(): value for name, value in found.items()}}

    def tries(self) -> tuple[Try, ...]:
        return self.asked()
