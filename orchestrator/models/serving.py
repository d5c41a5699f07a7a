"""Runs an aiohttp application in a thread of its own, so that the rest stays synchronous."""

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aiohttp import web

START_TIMEOUT_S = 20.0


class ServerThread:
    """An HTTP server on `host`, on a free port unless one is named. Started and stopped once.

    `build` is called inside the server's event loop, where clients and locks belong.
    """

    def __init__(self, build: Callable[[], web.Application], host: str = "127.0.0.1", port: int = 0) -> None:
        self._build, self._host, self.port = build, host, port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="passhat-http")

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self.port}"

    def start(self) -> Self:
        """Returns when the port answers. Raises what kept the server from starting."""
        self._thread.start()
        self._ready.wait(START_TIMEOUT_S)
        if self._error is not None:
            self._thread.join()
            raise self._error
        return self

    def stop(self) -> None:
        """Ends the server and its open connections. Stopping twice is fine."""
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
        runner = await start_site(self._build(), self._host, self.port)
        self.port = port_of(runner)
        self._ready.set()
        await self._stopping.wait()
        await runner.cleanup()


async def start_site(app: web.Application, host: str, port: int) -> web.AppRunner:
    """Listen; returns the runner whose `cleanup` ends everything at once."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=1024).start()
    return runner


def port_of(runner: web.AppRunner) -> int:
    """The port of the first site."""
    return int(runner.addresses[0][1])
