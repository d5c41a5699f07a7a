"""Passes connections on from an address that containers reach to one that they do not.

A closed network's containers reach this host's address on it and nothing else; what they are to reach on another
host is relayed from there. One thread, whatever the number of connections.
"""

import asyncio
import threading
from types import TracebackType
from typing import Self

from sandboxes.forwarder import copy, guarded

START_TIMEOUT_S = 20.0
CONNECT_S = 20.0


class Relay:
    """Listens on a free port of `host` and passes everything on to `target`. Started and stopped once."""

    def __init__(self, host: str, target: tuple[str, int]) -> None:
        self.host, self.target, self.port = host, target, 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="passhat-relay")

    def start(self) -> Self:
        """Returns when the port answers. Raises OSError when the address is not this host's."""
        self._thread.start()
        self._ready.wait(START_TIMEOUT_S)
        if self._error is not None:
            self._thread.join()
            raise self._error
        return self

    def stop(self) -> None:
        """Ends the open connections, too. Stopping twice is fine."""
        if self._loop is not None and self._stopping is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(START_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that called start
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._take, self.host, 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        await asyncio.sleep(0)  # one that was just taken is among the open ones then
        for writer in self._open:
            writer.transport.abort()

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        task = asyncio.get_running_loop().create_task(guarded(self._pass_on)(reader, writer))
        task.add_done_callback(lambda _: self._open.discard(writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.wait_for(asyncio.open_connection(*self.target), CONNECT_S)
        try:
            await asyncio.gather(copy(reader, back), copy(there, writer))
        finally:
            back.close()
