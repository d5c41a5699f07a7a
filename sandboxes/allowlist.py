"""Puts a forwarder onto a private network, and reads from its log what was tried. Knows no trial."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandboxes import forwarder
from sandboxes.base import NetworkSpec, SandboxError, SandboxRequest
from sandboxes.private_network import Joined, NetworkRequest, Try
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.sidecar import Program, Sidecar, SidecarRequest
from sandboxes.snapshot import ImageSnapshot

RESOURCES = ResourceSpec(cpus=0.25, cpus_limit=1.0, pinned=False, memory_mb=64, memory_limit_mb=128, pids_limit=64)
MAX_LOG_BYTES = 4_000_000
READY_S = 30.0
NAME = "the forwarder of the allowlist"
Create = Callable[[SidecarRequest], Sidecar]
Poll = Callable[[Callable[[], bool], float], bool]


@contextmanager
def forwarded(
    request: NetworkRequest, name: str, subnet_address: str, image: ImageSnapshot, create: Create, poll: Poll
) -> Iterator[Joined]:
    """The network with a forwarder on it, which is removed at the end. `subnet_address`: any address of it.

    `poll` asks a question until it holds, and says whether it did in time. Raises SandboxError.
    """
    program = ("python3", "-c", Path(forwarder.__file__).read_text(), subnet_address, *request.wanted.allowed_hosts)
    wanted = SandboxRequest(
        image=image,
        resources=RESOURCES,
        placement=Placement(),
        labels=request.labels,
        deadline_s=request.deadline_s,
        network=NetworkSpec("public", network_name=name, aliases=("passhat-forwarder",), also=("bridge",)),
        read_only=True,
    )
    sidecar = create(SidecarRequest(NAME, wanted, Program(entrypoint=program)))
    try:
        poll(lambda: '"ready"' in sidecar.log() or not sidecar.state().running, READY_S)
        if '"ready"' not in sidecar.log() or sidecar.address is None:
            raise SandboxError(f"{NAME} did not start: {sidecar.log()}")
        yield Joined(name, sidecar.address, forwarder.PROXY_PORT, lambda: tries(sidecar.log(MAX_LOG_BYTES)))
    finally:
        sidecar.remove()


def tries(log: str) -> tuple[Try, ...]:
    """What a forwarder's log tells, the same tries counted together, in the order of their first."""
    counted: dict[tuple[str, int | None, bool], int] = {}
    for line in log.splitlines():
        try:
            said = json.loads(line)
            key = (str(said["host"]), said["port"], bool(said["allowed"]))
        except (ValueError, KeyError, TypeError):
            continue
        counted[key] = counted.get(key, 0) + 1
    return tuple(Try(*key, count) for key, count in counted.items())
