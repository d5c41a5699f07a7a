"""Commands in containers: bounded in time and output, and clear about a place that is gone."""

import socket
import threading
import time
import tracemalloc

import pytest

from sandboxes.base import Command, EngineUnavailableError, SandboxGoneError
from sandboxes.docker import DockerProvider
from tests.contract.sandbox_contract import request_for

pytestmark = pytest.mark.docker


def later(seconds, act):
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def test_streams_are_apart_and_in_order(sandbox):
    script = "for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 7"
    result = sandbox.exec(Command(("sh", "-c", script)))
    assert result.exit_code == 7
    assert result.stdout.data == b"out1\nout2\nout3\n"
    assert result.stderr.data == b"err1\nerr2\nerr3\n"


def test_a_flood_is_counted_and_not_held(sandbox):
    megabytes = 200
    tracemalloc.start()
    result = sandbox.exec(Command(("head", "-c", f"{megabytes}M", "/dev/zero"), max_output_bytes=10_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.exit_code == 0
    assert len(result.stdout.head) == len(result.stdout.tail) == 5000
    assert result.stdout.dropped_bytes == (megabytes << 20) - 10_000
    assert peak < 20_000_000


def test_a_flood_ends_at_its_timeout(sandbox):
    started = time.monotonic()
    result = sandbox.exec(Command(("cat", "/dev/zero"), timeout_s=1.0, max_output_bytes=1000))
    assert result.timed_out
    assert result.stdout.dropped_bytes > 1_000_000
    assert time.monotonic() - started < 30
    assert sandbox.processes() == []


def test_a_background_child_that_holds_the_output_does_not_hold_the_command(sandbox):
    result = sandbox.exec(Command(("sh", "-c", "sleep 1000 & echo done"), timeout_s=30))
    assert (result.exit_code, result.stdout.data) == (0, b"done\n")
    assert sandbox.processes() == ["sleep 1000"]


def test_user_and_workdir(sandbox):
    result = sandbox.exec(Command(("sh", "-c", "id -u; pwd"), user="1234:1234", workdir="/usr/lib"))
    assert result.stdout.data == b"1234\n/usr/lib\n"


def test_an_unknown_user_is_a_result(sandbox):
    result = sandbox.exec(Command(("true",), user="nobody-here"))
    assert result.exit_code in (126, 127)
    assert b"nobody-here" in result.stderr.data


def test_a_clean_environment_keeps_a_planted_home_out(sandbox):
    sandbox.exec(Command(("sed", "-i", "s,:/root:,:/evil:,", "/etc/passwd")))
    lines = sandbox.exec(Command(("/usr/bin/env",), clean_env=True)).stdout.text().splitlines()
    assert lines == ["HOME=/nonexistent"]


def test_an_exit_code_137_of_its_own_is_a_result_without_a_counted_kill(sandbox):
    assert sandbox.exec(Command(("sh", "-c", "exit 137"))).exit_code == 137
    assert sandbox.counters().oom_kills == 0


@pytest.mark.parametrize("how", ["remove", "stop", "pause"])
@pytest.mark.parametrize("timeout_s", [None, 8.0])
def test_a_container_taken_away_meanwhile_is_gone(provider, sandbox, how, timeout_s):
    client = provider.engine.client
    acts = {
        "remove": lambda: client.remove_container(sandbox.sandbox_id, force=True),
        "stop": lambda: client.stop(sandbox.sandbox_id, timeout=0),
        "pause": lambda: client.pause(sandbox.sandbox_id),
    }
    timer = later(0.5, acts[how])
    started = time.monotonic()
    with pytest.raises(SandboxGoneError):
        sandbox.exec(Command(("sleep", "1000"), timeout_s=timeout_s))
    assert time.monotonic() - started < 30
    timer.join()
    for call in (lambda: sandbox.exec(Command(("true",))), sandbox.kill_processes):
        with pytest.raises(SandboxGoneError):
            call()


class DeafEngine:
    """Passes requests on to the engine, until it is told to swallow every answer."""

    def __init__(self, folder, target="/var/run/docker.sock"):
        self.path = folder / "engine.sock"
        self.deaf = False
        self._target = target
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self.path))
        self._server.listen()
        self._open = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            self._open += [near, far]
            threading.Thread(target=self._copy, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._copy, args=(far, near, True), daemon=True).start()

    def _copy(self, source, sink, answers):
        try:
            while data := source.recv(65536):
                if not (answers and self.deaf):
                    sink.sendall(data)
            if not (answers and self.deaf):
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        for connection in self._open:
            connection.close()


def test_an_engine_that_goes_deaf_does_not_hold_us(tmp_path, base_image, seen_from_the_host):
    engine = DeafEngine(tmp_path)
    provider = DockerProvider(f"unix://{engine.path}", timeout_s=3)
    sandbox = provider.create(request_for(base_image))
    try:
        timer = later(0.5, lambda: setattr(engine, "deaf", True))
        started = time.monotonic()
        with pytest.raises(EngineUnavailableError, match="did not answer"):
            sandbox.exec(Command(("sleep", "1000"), timeout_s=1))
        with pytest.raises(EngineUnavailableError, match="did not answer"):
            sandbox.exec(Command(("true",), timeout_s=1))
        assert time.monotonic() - started < 20
        timer.join()
    finally:
        provider.close()
        engine.close()
        seen_from_the_host.engine.client.remove_container(sandbox.sandbox_id, force=True)
        sandbox._view.close()


def test_no_engine_says_what_to_do(tmp_path):
    provider = DockerProvider(f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnavailableError, match=r"no Docker engine answers at unix://.*start it"):
        provider.host()


def test_an_engine_that_may_not_be_used_says_what_to_do(tmp_path, monkeypatch):
    def refuse(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(EngineUnavailableError, match=r"may not use the Docker engine.*group 'docker'"):
        DockerProvider(f"unix://{tmp_path}/forbidden.sock").host()
