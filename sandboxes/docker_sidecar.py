"""One started sidecar on a Docker engine. Knows no trial."""

from typing import Any, Literal

import docker.errors

from sandboxes.base import SandboxGoneError
from sandboxes.docker_engine import Engine, engine_errors
from sandboxes.docker_sandbox import DockerSandbox, remove_container
from sandboxes.sidecar import LOG_TAIL_BYTES, SidecarState

LOG_LINES = 200


class DockerSidecar:
    """A container that runs a program of its own; `sandbox` None: it ended before it was seen."""

    def __init__(self, engine: Engine, name: str, inspected: dict[str, Any], sandbox: DockerSandbox | None) -> None:
        self._engine = engine
        self._name = name
        self._id = str(inspected["Id"])
        self._network = str(inspected["HostConfig"]["NetworkMode"])
        self._address = _address(inspected, self._network)
        self._sandbox = sandbox

    @property
    def name(self) -> str:
        return self._name

    @property
    def address(self) -> str | None:
        return self._address

    @property
    def sandbox(self) -> DockerSandbox:
        if self._sandbox is None:
            raise SandboxGoneError(f"service {self._name} ended as soon as it was started")
        return self._sandbox

    def state(self) -> SidecarState:
        try:
            found = self._engine.inspect(self._id)["State"]
        except SandboxGoneError:
            return SidecarState(False)
        return SidecarState(True) if found["Running"] else SidecarState(False, int(found["ExitCode"]))

    def log(self, max_bytes: int = LOG_TAIL_BYTES) -> str:
        lines: Literal["all"] | int = LOG_LINES if max_bytes <= LOG_TAIL_BYTES else "all"
        with engine_errors(f"read the log of service {self._name}"):
            try:
                data = self._engine.client.logs(self._id, tail=lines)
            except docker.errors.NotFound:
                return ""
        return bytes(data)[-max_bytes:].decode("utf-8", errors="replace")

    def remove(self) -> None:
        if self._sandbox is not None:
            self._sandbox.remove()
        else:
            remove_container(self._engine, self._id)


def _address(inspected: dict[str, Any], network: str) -> str | None:
    networks = inspected["NetworkSettings"]["Networks"]
    return (networks.get(network) or {}).get("IPAddress") or None
