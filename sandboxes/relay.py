"""Passes connections on from an address that containers reach to one that they do not.

A closed network's containers reach this host's address on it and nothing else; what they are to reach on another
host is relayed from there. Two threads a connection, of which a node has about as many as trials: asyncio's server
would lose a connection that it accepts while it is closed.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

CONNECT_S = 20.0
PIECE = 65_536


class Relay:
    """Listens on a free port of `host` and passes everything on to `target`. Started and stopped once."""

    def __init__(self, host: str, target: tuple[str, int]) -> None:
        self.host, self.target, self.port = host, target, 0
        self._server: socket.socket | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._stopped = False

    def start(self) -> Self:
        """Returns when the port answers. Raises OSError when the address is not this host's."""
        self._server = socket.create_server((self.host, 0), backlog=1024)
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._server,), daemon=True, name="passhat-relay").start()
        return self

    def stop(self) -> None:
        """Ends the open connections, too. Stopping twice is fine."""
        with self._lock:
            self._stopped = True
            ending = [*self._open, *([self._server] if self._server is not None else [])]
        for one in ending:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _accept(self, server: socket.socket) -> None:
        with server, contextlib.suppress(OSError):
            while True:
                here, _ = server.accept()
                threading.Thread(target=self._serve, args=(here,), daemon=True, name="passhat-relay").start()

    def _serve(self, here: socket.socket) -> None:
        with here, contextlib.suppress(OSError), socket.create_connection(self.target, CONNECT_S) as there:
            there.settimeout(None)
            with self._lock:
                if self._stopped:
                    return
                self._open |= {here, there}
            back = threading.Thread(target=_copy, args=(there, here), daemon=True, name="passhat-relay")
            try:
                back.start()
                _copy(here, there)
                back.join()
            finally:
                with self._lock:
                    self._open -= {here, there}


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Everything until the end, which is passed on; an end by force ends the other way, too."""
    try:
        while data := source.recv(PIECE):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
