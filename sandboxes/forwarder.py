"""Lets named hosts through and nothing else: run in a container of its own between a closed network and the world.

Started as `python3 -c <this file> <own network's first address> <allowed> ...`, so it stands alone: no import
but the standard library. An allowed entry is `host`, `*.domain` or either with `:port`; without a port, every
port. Three doors: names (UDP 53) answer an allowed name with the forwarder's own address and refuse others;
ports 80, 443 and those of the list take a connection meant for the host itself, told by its TLS or HTTP
greeting; port 3128 is an HTTP proxy. The host is always looked up here, never by whom it is let through for.
Every try is one line of JSON on standard output: host, port, allowed.
"""

import asyncio
import json
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

PROXY_PORT = 3128
HEAD_BYTES = 65_536
GREETING_S = 10.0
CONNECT_S = 20.0


@dataclass(frozen=True)
class Entry:
    """One allowed host; `host` may begin with `*.`; `port` None: every port."""

    host: str
    port: int | None = None

    def covers(self, host: str, port: int | None) -> bool:
        name = host.lower().rstrip(".")
        named = name.endswith(self.host[1:]) if self.host.startswith("*.") else name == self.host
        return named and (port is None or self.port in (None, port))


def entry(text: str) -> Entry:
    """`host`, `*.domain`, `host:port` or `[v6]:port`. Raises ValueError."""
    host, colon, port = text.strip().lower().rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, port = text.strip().lower(), ""
    if not host.strip("[]") or any(c in host for c in "/ @"):
        raise ValueError(f"{text!r} names no host")
    if port and not (port.isdigit() and 0 < int(port) < 65_536):
        raise ValueError(f"{text!r} names no port")
    return Entry(host.strip("[]").rstrip("."), int(port) if port else None)


def tls_name(data: bytes) -> str | None:
    """The server name of a TLS greeting (RFC 8446, 4.1.2; RFC 6066, 3); None where there is none."""
    try:
        at = 43
        at += 1 + data[at]
        at += 2 + int.from_bytes(data[at : at + 2], "big")
        at += 1 + data[at]
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        at += 2
        while at + 4 <= min(end, len(data)):
            kind, size = struct.unpack("!HH", data[at : at + 4])
            if kind == 0:
                length = int.from_bytes(data[at + 7 : at + 9], "big")
                return data[at + 9 : at + 9 + length].decode("ascii")
            at += 4 + size
    except (IndexError, UnicodeDecodeError):
        pass
    return None


def http_host(head: bytes) -> str | None:
    """The host of an HTTP request, without its port."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"host":
            return split_host(value.strip().decode("latin-1"), 0)[0] or None
    return None


def split_host(text: str, default: int) -> tuple[str, int]:
    """host and port of `host:port`, also `[v6]:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text.strip("[]"), default
    return host.strip("[]"), int(port) if port.isdigit() else default


def answer(query: bytes, address: str, allowed: Callable[[str], bool]) -> tuple[bytes, str, bool]:
    """(reply, name, allowed) to one query of names (RFC 1035): A is our address, other kinds are empty."""
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    end = at + 5
    name, kind = ".".join(labels), int.from_bytes(query[at + 1 : at + 3], "big")
    good = allowed(name)
    found = (
        b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x1e\x00\x04" + socket.inet_aton(address) if good and kind == 1 else b""
    )
    flags = 0x8180 if good else 0x8183
    return query[:2] + struct.pack("!5H", flags, 1, 1 if found else 0, 0, 0) + query[12:end] + found, name, good


class Forwarder:
    """The three doors. `say` is told of every try; `connect` opens the way to a host."""

    def __init__(
        self,
        entries: Sequence[Entry],
        address: str,
        say: Callable[[str, int | None, bool], None],
        connect: Callable[
            [str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
        ] = asyncio.open_connection,
    ) -> None:
        self.entries = tuple(entries)
        self.address = address
        self._say = say
        self._connect = connect

    def allows(self, host: str, port: int | None = None) -> bool:
        return any(entry.covers(host, port) for entry in self.entries)

    def reply(self, query: bytes) -> bytes | None:
        """The answer to a query of names; None where it makes no sense."""
        try:
            data, name, good = answer(query, self.address, self.allows)
        except (IndexError, UnicodeError):
            return None
        if not good:
            self._say(name, None, False)
        return data

    async def meant(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        """A connection that its maker means for a host itself."""
        only = [e.host for e in self.entries if e.port == port and not e.host.startswith("*.")]
        data, host = b"", only[0] if len(only) == 1 else None
        if host is None:
            data, host = await self._greeting(reader)
        await self._through(host or "?", port, data, reader, writer)

    async def proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request to the HTTP proxy: CONNECT, or an absolute address, which is then asked for once."""
        head = await self._head(reader, b"")
        line, _, rest = head.partition(b"\r\n")
        method, _, target = line.decode("latin-1").rpartition(" ")[0].partition(" ")
        if method == "CONNECT":
            host, port = split_host(target, 443)
            await self._through(host, port, b"", reader, writer, b"HTTP/1.1 200 Connection established\r\n\r\n")
            return
        place, _, path = target.partition("://")[2].partition("/")
        host, port = split_host(place, 80)
        fields, _, body = rest.partition(b"\r\n\r\n")
        kept = [f for f in fields.split(b"\r\n") if not f.lower().startswith((b"proxy-", b"connection:"))]
        first = f"{method} /{path} HTTP/1.1".encode("latin-1")
        data = b"\r\n".join([first, *kept, b"Connection: close"]) + b"\r\n\r\n" + body
        await self._through(host, port, data, reader, writer)

    async def _greeting(self, reader: asyncio.StreamReader) -> tuple[bytes, str | None]:
        data = await asyncio.wait_for(reader.read(HEAD_BYTES), GREETING_S)
        if data[:1] == b"\x16":
            while len(data) < 5 + int.from_bytes(data[3:5], "big"):
                more = await asyncio.wait_for(reader.read(HEAD_BYTES), GREETING_S)
                if not more:
                    break
                data += more
            return data, tls_name(data)
        data = await self._head(reader, data)
        return data, http_host(data.partition(b"\r\n\r\n")[0])

    async def _head(self, reader: asyncio.StreamReader, data: bytes) -> bytes:
        while b"\r\n\r\n" not in data and len(data) < HEAD_BYTES:
            more = await asyncio.wait_for(reader.read(HEAD_BYTES), GREETING_S)
            if not more:
                break
            data += more
        return data

    async def _through(
        self,
        host: str,
        port: int,
        data: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        greeting: bytes = b"",
    ) -> None:
        good = self.allows(host, port)
        self._say(host, port, good)
        if not good:
            writer.write(
                b"HTTP/1.1 403 Forbidden\r\nContent-Length: 24\r\nConnection: close\r\n\r\nnot in the allowed hosts"
            )
            return
        try:
            there, back = await asyncio.wait_for(self._connect(host, port), CONNECT_S)
        except (TimeoutError, OSError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        writer.write(greeting)
        back.write(data)
        try:
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            back.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Everything until the end, which is passed on."""
    try:
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
    except OSError:
        target.close()


def guarded(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """A door that survives whatever a client sends, and closes behind it."""

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
            await writer.drain()
        except (TimeoutError, OSError, ValueError):
            pass
        finally:
            writer.close()

    return run


async def _serve(forwarder: Forwarder) -> None:
    class Names(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, source: tuple[str, int]) -> None:
            reply = forwarder.reply(data)
            if reply is not None:
                self.transport.sendto(reply, source)  # type: ignore[attr-defined]

    def door(port: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        return guarded(lambda reader, writer: forwarder.meant(reader, writer, port))

    here = forwarder.address
    await asyncio.get_running_loop().create_datagram_endpoint(Names, local_addr=(here, 53))
    for port in sorted({80, 443, *(e.port for e in forwarder.entries if e.port)} - {PROXY_PORT}):
        await asyncio.start_server(door(port), here, port)
    await asyncio.start_server(guarded(forwarder.proxy), here, PROXY_PORT)
    print(json.dumps({"ready": here}), flush=True)
    await asyncio.Event().wait()


def main(arguments: Sequence[str]) -> None:
    """`arguments`: an address of the closed network, then the allowed hosts."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((arguments[0], 9))
        address = probe.getsockname()[0]

    def say(host: str, port: int | None, allowed: bool) -> None:
        print(json.dumps({"host": host[:253], "port": port, "allowed": allowed}), flush=True)

    asyncio.run(_serve(Forwarder([entry(text) for text in arguments[1:]], address, say)))


if __name__ == "__main__":
    main(sys.argv[1:])
