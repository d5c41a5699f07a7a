"""A relay passes bytes on both ways, for many at once, and says when an address is not this host's."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from sandboxes.relay import Relay


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A server that answers what it heard, once the other side has ended its sentence."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(there: socket.socket) -> None:
            with there:
                heard = b""
                while data := there.recv(65_536):
                    heard += data
                there.sendall(heard)

        def serve() -> None:
            while True:
                try:
                    there, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(there,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)


def said(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as here:
        heard = b""
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            here.sendall(data)
            with contextlib.suppress(OSError):  # it has been reset, which the next line tells
                here.shutdown(socket.SHUT_WR)
            while more := here.recv(65_536):
                heard += more
        return heard


def test_what_is_said_arrives_and_the_answer_comes_back(echo: tuple[str, int]) -> None:
    long = bytes(range(256)) * 4096
    with Relay("127.0.0.1", echo) as relay:
        assert said(relay.port, long) == long
        with socket.create_connection(("127.0.0.1", relay.port)):  # one that says nothing holds nobody up
            assert said(relay.port, b"again") == b"again"


def test_nobody_behind_it_is_an_end_and_not_a_wait() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()
    with Relay("127.0.0.1", nobody) as relay:
        assert said(relay.port, b"hello") == b""


def test_after_its_end_nobody_listens(echo: tuple[str, int]) -> None:
    with Relay("127.0.0.1", echo) as relay:
        port = relay.port
        held = socket.create_connection(("127.0.0.1", port), timeout=10)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
    with held, contextlib.suppress(ConnectionResetError):
        assert held.recv(1) == b""


def test_an_address_that_is_not_this_hosts_is_an_error() -> None:
    with pytest.raises(OSError, match="assign"):
        Relay("203.0.113.7", ("127.0.0.1", 1)).start()
