"""Running one command in a container: bounded in time and in output. Knows no trial.

The command's stream is read here with a deadline, because a stream without one hangs with the engine,
with a paused container, or with a child that keeps the output open.
"""

import contextlib
import select
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sandboxes.base import Command, EngineUnavailableError, ExecResult, Output, SandboxError
from sandboxes.docker_engine import Engine
from sandboxes.engine_http import CHUNK
from sandboxes.host_view import HostView
from sandboxes.output import Demultiplexer

POLL_S = 1.0
AFTERMATH_S = 30.0
NOTING_S = 1.0
KILLED = 137
NOT_STARTED = (126, 127)
RUNTIME_NAMES = ("PATH", "HOSTNAME", "TERM")
NO_HOME = "/nonexistent"


@dataclass(frozen=True, slots=True)
class ExecTarget:
    """The container a command runs in; `environment` are the names its configuration sets."""

    engine: Engine
    container_id: str
    environment: tuple[str, ...]
    view: HostView | None


def run_command(target: ExecTarget, command: Command) -> ExecResult:
    """Run a command to its end or its timeout; see `Sandbox.exec`."""
    exec_id, result = _run(target, command)
    if result.timed_out:
        _end_timed_out(target, exec_id)
    return result


def kill_inside(target: ExecTarget) -> None:
    """Kill everything but PID 1 by a command inside: one system call, so nothing forks away from it.

    Trusts the container's own /bin/sh to make that call: the caller checks what is left.
    """
    with contextlib.suppress(EngineUnavailableError):
        _run(target, Command(("/bin/sh", "-c", "kill -9 -1"), user="0", timeout_s=10, clean_env=True))


def _run(target: ExecTarget, command: Command) -> tuple[str, ExecResult]:
    exec_id = _create(target, command)
    engine = target.engine
    status, connection, first = engine.socket.stream(
        f"/exec/{exec_id}/start", {"Detach": False, "Tty": False}, engine.timeout_s
    )
    with connection:
        engine.check(status, {"message": first.decode(errors="replace")}, "start a command")
        started = time.monotonic()
        output = Demultiplexer(command.max_output_bytes)
        output.feed(first)
        deadline = None if command.timeout_s is None else started + command.timeout_s
        ended = _read(target, connection, output, deadline)
    duration_s = time.monotonic() - started
    if not ended:
        return exec_id, ExecResult(None, output.stdout.result(), output.stderr.result(), duration_s)
    return exec_id, _result(target, exec_id, output, duration_s)


def environment_of(command: Command, container_names: Iterable[str]) -> list[str]:
    """The engine's environment list of a command.

    A name without a value takes the variable away: that is how a clean environment needs no program
    inside the container. HOME would be taken from the container's passwd file by the runtime, so with
    a clean environment it is /nonexistent unless given.
    """
    given = dict(command.env)
    if not command.clean_env:
        return [f"{name}={value}" for name, value in given.items()]
    given.setdefault("HOME", NO_HOME)
    removed = sorted({*container_names, *RUNTIME_NAMES} - given.keys())
    return removed + [f"{name}={value}" for name, value in given.items()]


def _create(target: ExecTarget, command: Command) -> str:
    body: dict[str, Any] = {
        "AttachStdout": True,
        "AttachStderr": True,
        "Cmd": list(command.argv),
        "Env": environment_of(command, target.environment),
    }
    if command.user is not None:
        body["User"] = command.user
    if command.workdir is not None:
        body["WorkingDir"] = command.workdir
    status, answer = target.engine.socket.request(
        "POST", f"/containers/{target.container_id}/exec", body, target.engine.timeout_s
    )
    target.engine.check(status, answer, f"run {command.argv[0]!r} in container {target.container_id[:12]}")
    return str(answer["Id"])


def _read(
    target: ExecTarget,
    connection: socket.socket,
    output: Demultiplexer,
    deadline: float | None,
) -> bool:
    """Read until the command ended (True) or its time was up (False)."""
    connection.setblocking(False)
    poll = select.poll()
    poll.register(connection, select.POLLIN | select.POLLHUP)
    while True:
        left = POLL_S if deadline is None else min(POLL_S, deadline - time.monotonic())
        if left <= 0:
            return False
        if not poll.poll(left * 1000):
            if deadline is None or time.monotonic() < deadline:
                target.engine.require_running(target.container_id)
            continue
        try:
            chunk = connection.recv(CHUNK)
        except BlockingIOError:
            continue
        except OSError:
            chunk = b""
        if not chunk:
            return True
        output.feed(chunk)


def _result(target: ExecTarget, exec_id: str, output: Demultiplexer, duration_s: float) -> ExecResult:
    state = _await_exit(target, exec_id)
    code = int(state["ExitCode"])
    stdout, stderr = output.stdout.result(), output.stderr.result()
    if not state.get("Pid"):
        target.engine.require_running(target.container_id)
    if code == KILLED:
        _require_still_running(target)
    if not state.get("Pid") and code in NOT_STARTED:
        words = b"".join((stdout.data, stderr.data)).strip() + b"\n"
        return ExecResult(code, Output(), Output(head=words), duration_s)
    return ExecResult(code, stdout, stderr, duration_s)


def _require_still_running(target: ExecTarget) -> None:
    """Raise SandboxGoneError when a SIGKILL came from the end of the container itself.

    The kernel tells at once. The engine notes it a little later, so it is asked for a while.
    """
    if target.view is not None:
        target.view.require()
        return
    give_up = time.monotonic() + NOTING_S
    while time.monotonic() < give_up:
        target.engine.require_running(target.container_id)
        time.sleep(0.05)


def _await_exit(target: ExecTarget, exec_id: str) -> dict[str, Any]:
    """The end of a stream can be seen before the engine has noted the exit."""
    give_up, pause = time.monotonic() + AFTERMATH_S, 0.001
    while True:
        state = _inspect(target, exec_id)
        if not state["Running"] and state["ExitCode"] is not None:
            return state
        if time.monotonic() > give_up:
            target.engine.require_running(target.container_id)
            raise SandboxError(
                f"a command's output ended, but after {AFTERMATH_S:.0f} s the engine still says that it"
                " runs; try the trial again"
            )
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def _inspect(target: ExecTarget, exec_id: str) -> dict[str, Any]:
    timeout_s = min(AFTERMATH_S, target.engine.timeout_s)
    status, answer = target.engine.socket.request("GET", f"/exec/{exec_id}/json", None, timeout_s)
    if status == 404:
        target.engine.require_running(target.container_id)
    target.engine.check(status, answer, "look at a command")
    return dict(answer)


def _end_timed_out(target: ExecTarget, exec_id: str) -> None:
    """SIGKILL to the command's process tree; to everything but PID 1 where only the engine can help."""
    target.engine.require_running(target.container_id, min(AFTERMATH_S, target.engine.timeout_s))
    view = target.view
    pid = int(_inspect(target, exec_id).get("Pid") or 0)
    if view is not None and view.may_kill:
        if pid:
            view.kill_tree(pid)
        return
    kill_inside(target)
