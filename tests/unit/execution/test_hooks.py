"""Who is told hears one JSON object; a hook that fails is complained about and stops nothing."""

import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from orchestrator.config import HookSetting
from orchestrator.execution.hooks import tell_hooks

BODY = {"sweep": "s-1", "waves": [0, 1]}


def tell(hooks: HookSetting) -> list[tuple[str, Mapping[str, object]]]:
    complaints: list[tuple[str, Mapping[str, object]]] = []
    tell_hooks(hooks, "wave_ended", BODY, lambda event, fields: complaints.append((event, fields)))
    return complaints


def test_a_command_gets_the_event_on_its_standard_input(tmp_path: Path) -> None:
    target = tmp_path / "heard.json"
    code = f"import sys; open({str(target)!r}, 'w').write(sys.stdin.read())"
    assert tell(HookSetting(command=(sys.executable, "-c", code))) == []
    assert json.loads(target.read_text()) == {"event": "wave_ended", **BODY}


@pytest.mark.parametrize("command", [("/nowhere/hook",), (sys.executable, "-c", "raise SystemExit(3)")])
def test_a_command_that_fails_is_named(command: tuple[str, ...]) -> None:
    ((event, fields),) = tell(HookSetting(command=command))
    assert event == "hook_failed"
    assert str(fields["message"]).startswith(f"the hook command {command[0]} failed: ")


@pytest.fixture
def server() -> Iterator[tuple[HTTPServer, list[bytes], list[int]]]:
    """A server that keeps what it is sent and answers with the next code."""
    heard: list[bytes] = []
    codes: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(codes.pop())
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made, heard, codes
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_webhook_gets_the_same_as_a_post(server) -> None:
    made, heard, codes = server
    codes.append(204)
    assert tell(HookSetting(webhook=f"http://127.0.0.1:{made.server_port}/x")) == []
    assert [json.loads(body) for body in heard] == [{"event": "wave_ended", **BODY}]


def test_a_webhook_that_refuses_or_is_not_there_is_named(server) -> None:
    made, _, codes = server
    codes.append(500)
    for url in (f"http://127.0.0.1:{made.server_port}/x", "http://127.0.0.1:1/x", "http://[broken"):
        ((event, fields),) = tell(HookSetting(webhook=url))
        assert event == "hook_failed"
        assert str(fields["message"]).startswith(f"the webhook {url} failed: ")


def test_a_webhook_that_does_not_speak_http_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            caller, _ = listening.accept()
            with caller:
                caller.recv(65536)
                caller.sendall(b"SSH-2.0-other\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        ((event, _),) = tell(HookSetting(webhook=f"http://127.0.0.1:{listening.getsockname()[1]}/"))
        thread.join()
    assert event == "hook_failed"


def test_nobody_is_told_where_nobody_asked() -> None:
    assert tell(HookSetting()) == []
