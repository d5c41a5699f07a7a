"""The engine's HTTP over its socket, with a deadline on everything. Knows nothing of containers.

Only for what the docker library cannot do with a deadline: running commands, whose stream it reads
without a time limit. A connection is used for one request.
"""

import contextlib
import json
import socket
import time
from typing import Any
from urllib.parse import urlsplit

from sandboxes.base import EngineUnavailableError

CHUNK = 1 << 18
MAX_HEADER = 65_536
MAX_BODY = 64_000_000


class EngineSocket:
    """Speaks to one engine at unix:// or tcp://."""

    def __init__(self, base_url: str, api_version: str | None) -> None:
        parts = urlsplit(base_url.replace("http+unix://", "unix://"))
        self._unix = parts.path if parts.scheme == "unix" else None
        self._host, self._port = parts.hostname or "", parts.port or 2375
        if parts.scheme not in ("unix", "tcp", "http"):
            raise EngineUnavailableError(
                f"engine address {base_url!r} was given, and only unix:// and tcp:// work: every node"
                " talks to the engine of its own"
            )
        self._prefix = "" if api_version is None else f"/v{api_version}"
        self._base_url = base_url

    def request(self, method: str, path: str, body: Any, timeout_s: float) -> tuple[int, Any]:
        """One call: (status, parsed JSON body or None). Raises EngineUnavailableError."""
        deadline = time.monotonic() + timeout_s
        with self._guard(path, timeout_s), self._connect(deadline) as connection:
            self._send(connection, method, path, body, upgrade=False)
            status, headers, rest = self._head(connection, deadline)
            raw = self._body(connection, headers, rest, deadline) if status != 204 else b""
        try:
            return status, json.loads(raw) if raw.strip() else None
        except ValueError:
            return status, {"message": raw[:300].decode("utf-8", errors="replace")}

    def head(self, path: str, timeout_s: float) -> tuple[int, dict[str, str]]:
        """HEAD: (status, headers by lower-case name)."""
        deadline = time.monotonic() + timeout_s
        with self._guard(path, timeout_s), self._connect(deadline) as connection:
            self._send(connection, "HEAD", path, None, upgrade=False)
            status, headers, _ = self._head(connection, deadline)
        return status, headers

    def stream(self, path: str, body: Any, timeout_s: float) -> tuple[int, socket.socket, bytes]:
        """POST that turns into a raw stream: (status, socket, the first bytes of the stream).

        The caller closes the socket. With another status than 101 or 200 the bytes are the message.
        """
        deadline = time.monotonic() + timeout_s
        with self._guard(path, timeout_s):
            connection = self._connect(deadline)
            try:
                self._send(connection, "POST", path, body, upgrade=True)
                status, headers, rest = self._head(connection, deadline)
                if status not in (101, 200):
                    rest = self._body(connection, headers, rest, deadline)
            except BaseException:
                connection.close()
                raise
        return status, connection, rest

    @contextlib.contextmanager
    def _guard(self, path: str, timeout_s: float) -> Any:
        try:
            yield
        except TimeoutError:
            raise EngineUnavailableError(
                f"the engine did not answer {path.split('?')[0]} within {timeout_s:.0f} s: see whether it"
                " hangs (docker ps), and restart it"
            ) from None
        except OSError as error:
            raise unavailable(error, f"ask the engine for {path.split('?')[0]}", self._base_url) from error

    def _connect(self, deadline: float) -> socket.socket:
        if self._unix is None:
            return socket.create_connection((self._host, self._port), _left(deadline))
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_left(deadline))
            connection.connect(self._unix)
        except BaseException:
            connection.close()
            raise
        return connection

    def _send(self, connection: socket.socket, method: str, path: str, body: Any, upgrade: bool) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        kind = "Connection: Upgrade\r\nUpgrade: tcp\r\n" if upgrade else "Connection: close\r\n"
        head = (
            f"{method} {self._prefix}{path} HTTP/1.1\r\nHost: docker\r\n{kind}"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        connection.sendall(head.encode() + data)

    def _head(self, connection: socket.socket, deadline: float) -> tuple[int, dict[str, str], bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = _receive(connection, deadline)
            if not chunk or len(data) > MAX_HEADER:
                raise ConnectionError("it was closed before an answer came")
            data += chunk
        head, _, rest = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}, rest

    def _body(self, connection: socket.socket, headers: dict[str, str], rest: bytes, deadline: float) -> bytes:
        length = int(headers["content-length"]) if "content-length" in headers else None
        data = bytearray(rest)
        while length is None or len(data) < length:
            chunk = _receive(connection, deadline)
            if not chunk or len(data) > MAX_BODY:
                break
            data += chunk
        return _dechunk(bytes(data)) if headers.get("transfer-encoding") == "chunked" else bytes(data)


def unavailable(error: BaseException, asked: str, base_url: str = "") -> EngineUnavailableError:
    """One sentence for an engine that cannot be reached: what was asked, found, and what to do."""
    text = f"{error!r} {error} {error.__cause__ or ''} {error.__context__ or ''}"
    at = f" at {base_url}" if base_url else ""
    if "Permission denied" in text or "PermissionError" in text:
        return EngineUnavailableError(
            f"{asked}: this user may not use the Docker engine{at} (permission denied): add the user to the"
            " group 'docker', or run as root"
        )
    if "No such file" in text or "refused" in text or "FileNotFoundError" in text:
        return EngineUnavailableError(
            f"{asked}: no Docker engine answers{at}: start it (systemctl start docker), or name another"
            " with DOCKER_HOST"
        )
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return EngineUnavailableError(
        f"{asked}: the connection to the Docker engine{at} failed ({first[:300]}): see whether it runs (docker ps)"
    )


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


def _receive(connection: socket.socket, deadline: float) -> bytes:
    connection.settimeout(_left(deadline))
    return connection.recv(CHUNK)


def _dechunk(data: bytes) -> bytes:
    parts, at = [], 0
    while (end := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:end].split(b";")[0] or b"0", 16)
        if size == 0:
            break
        parts.append(data[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(parts)
