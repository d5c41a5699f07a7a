"""A sidecar: a container beside a sandbox that runs a program of its own. What it is asked for and can do. Pure.

A sandbox runs our PID 1 and waits for commands; a sidecar runs what its image or its task says, has a log,
and may end by itself. Everything else (limits, labels, capabilities, networks) is a sandbox's.
"""

from dataclasses import dataclass, field
from typing import Protocol

from sandboxes.base import Sandbox, SandboxRequest

LOG_TAIL_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Program:
    """What a sidecar runs; None is what its image says. An entrypoint of one's own drops the image's command."""

    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    user: str | None = None
    workdir: str | None = None


@dataclass(frozen=True, slots=True)
class SidecarRequest:
    """A named program and the container for it; `request.deadline_s` ends it as it ends a sandbox."""

    name: str
    request: SandboxRequest
    program: Program = field(default_factory=Program)


@dataclass(frozen=True, slots=True)
class SidecarState:
    """Whether a sidecar runs; its exit code once it has ended."""

    running: bool
    exit_code: int | None = None


class Sidecar(Protocol):
    """One started sidecar. Methods raise EngineUnavailableError when the engine does not answer."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str | None:
        """Its address on the private network; None once it has ended."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """To run commands in it and take files. Raises SandboxGoneError when it ended before it was seen."""
        ...

    def state(self) -> SidecarState: ...

    def log(self, max_bytes: int = LOG_TAIL_BYTES) -> str:
        """The end of what it printed, both streams."""
        ...

    def remove(self) -> None:
        """Kill and remove it. Removing twice is fine."""
        ...


def argv_of(program: Program, entrypoint: list[str] | None, command: list[str] | None) -> tuple[str, ...]:
    """What is run, from the program and the image's own entrypoint and command; empty when nobody says."""
    if program.entrypoint is not None:
        return (*program.entrypoint, *(program.command or ()))
    given = program.command if program.command is not None else tuple(command or ())
    return (*(entrypoint or ()), *given)
