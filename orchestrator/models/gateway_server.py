"""The gateway's HTTP side: who asks, may they, forward or replay, meter, record.

Forwards to one API and no other host, and only the paths that are listed here. A request comes in with the
attempt's token and goes out with the key; an answer comes back as it arrives. Nothing is retried: one
request in is one request out, so that whoever asked counts its own retries.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web

from orchestrator.models.ledger import Account, Ledger, RefusedError
from orchestrator.models.limiting import REFUSALS, AdaptiveLimit
from orchestrator.models.metering import UsageScanner
from orchestrator.models.recording import REMOVED, Player, Recorder, RecordingError, Store
from orchestrator.models.script_server import ATTEMPT_HEADER
from orchestrator.models.usage_log import note_usage

MAX_REQUEST_BYTES = 64_000_000
SENT_ON = ("content-type", "accept", "anthropic-version", "anthropic-beta")
SENT_BACK = ("content-type", "retry-after", "request-id")
SHORTEST_SECRET = 16
QUEUED_HEADER = "x-passhat-queued-s"
STATUS = {"token": 403, "budget": 402, "price": 402, "recording": 422, "unreachable": 502, "path": 404}


@dataclass(frozen=True, slots=True)
class Upstream:
    """The one API that is forwarded to. `announce`: name the attempt to a scripted model."""

    url: str
    key: str
    proxy: str | None = None
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 600.0
    announce: bool = False

    @property
    def secret(self) -> bytes | None:
        """The key as it must not be passed on; a placeholder of a few letters is none, and stands anywhere."""
        return self.key.encode() if len(self.key) >= SHORTEST_SECRET else None


class GatewayServer:
    """Everything one gateway holds while it runs; lives in one event loop."""

    def __init__(
        self,
        upstream: Upstream,
        ledger: Ledger,
        limit: AdaptiveLimit,
        store: Store | None,
        usage_log: Path | None = None,
    ) -> None:
        self._up, self.ledger, self._limit, self._store = upstream, ledger, limit, store
        self._usage_log = usage_log
        self._in_flight = 0
        self._returned: asyncio.Condition | None = None
        self._client: aiohttp.ClientSession | None = None
        self._recorders: dict[str, Recorder] = {}
        self._players: dict[str, Player] = {}
        self._running: dict[str, set[asyncio.Task[object]]] = {}

    def app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_REQUEST_BYTES)
        for prefix in ("", "/t/{token}"):
            app.router.add_post(prefix + "/v1/messages", self._messages)
            app.router.add_post(prefix + "/v1/messages/count_tokens", self._messages)
            app.router.add_get(prefix + "/v1/models", self._messages)
        app.router.add_route("*", "/{rest:.*}", self._refuse_path)
        app.cleanup_ctx.append(self._life)
        return app

    async def _life(self, app: web.Application) -> AsyncIterator[None]:
        self._returned = asyncio.Condition()
        timeout = aiohttp.ClientTimeout(
            total=None, connect=self._up.connect_timeout_s, sock_read=self._up.idle_timeout_s
        )
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector, auto_decompress=False) as client:
            self._client = client
            yield

    def open(self, token: str, account: Account) -> None:
        """Let an attempt speak. Raises ValueError where that is not possible."""
        if account.mode != "live":
            if self._store is None or account.tape is None:
                raise ValueError(f"mode {account.mode} needs a recordings folder and a tape")
            if account.mode == "record":
                self._recorders[account.attempt_id] = Recorder(self._store, account.tape)
            else:
                self._players[account.attempt_id] = Player(self._store, account.tape)
        self.ledger.open(token, account)

    async def close(self, attempt_id: str) -> Account:
        """Void the token, end what still runs for it, write its tape."""
        account = self.ledger.close(attempt_id)
        tasks = self._running.pop(attempt_id, set())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._players.pop(attempt_id, None)
        recorder = self._recorders.pop(attempt_id, None)
        if recorder is not None:
            await asyncio.to_thread(recorder.finish)
        return account

    async def _refuse_path(self, request: web.Request) -> web.Response:
        return refusal("path", f"{request.method} {request.path} is not forwarded by this gateway")

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        model = _model_of(raw)
        try:
            account = self.ledger.admit(token_of(request), model)
        except RefusedError as error:
            return refusal(error.kind, str(error))
        task = asyncio.current_task()
        assert task is not None
        running = self._running.setdefault(account.attempt_id, set())
        running.add(task)
        start_s = time.monotonic()
        try:
            if account.mode == "replay":
                return await self._replay(request, raw, account, model)
            return await self._forward(request, raw, account, model)
        finally:
            running.discard(task)
            account.model_wait_s += time.monotonic() - start_s

    async def _replay(
        self, request: web.Request, raw: bytes, account: Account, model: str | None
    ) -> web.StreamResponse:
        player = self._players[account.attempt_id]
        try:
            exchange = player.answer(raw)
            body = player.store.get(exchange.body)
        except RecordingError as error:
            return refusal("recording", str(error))
        scanner = UsageScanner()
        scanner.feed(body) if "event-stream" in exchange.content_type else scanner.whole(body)
        self._charge(account, model, exchange.status, scanner)
        headers = {"content-type": exchange.content_type}
        if exchange.retry_after is not None:
            headers["retry-after"] = exchange.retry_after
        response = web.StreamResponse(status=exchange.status, headers=headers)
        await response.prepare(request)
        await response.write(body)
        if exchange.broken and request.transport is not None:
            request.transport.abort()
        return response

    async def _forward(
        self, request: web.Request, raw: bytes, account: Account, model: str | None
    ) -> web.StreamResponse:
        queued_s = await self._enter()
        account.queued_s += queued_s
        try:
            return await self._exchange(request, raw, account, model, queued_s)
        except (aiohttp.ClientConnectionError, TimeoutError) as error:
            return refusal("unreachable", f"the API cannot be reached: {type(error).__name__}")
        finally:
            await self._leave()

    async def _exchange(
        self, request: web.Request, raw: bytes, account: Account, model: str | None, queued_s: float
    ) -> web.StreamResponse:
        assert self._client is not None
        headers = {name: request.headers[name] for name in SENT_ON if name in request.headers}
        headers |= {"x-api-key": self._up.key, "accept-encoding": "identity"}
        if self._up.announce:
            headers[ATTEMPT_HEADER] = account.attempt_id
        url = self._up.url + request.path[request.path.index("/v1/") :]
        sending = self._client.request(
            request.method, url, data=raw or None, headers=headers, proxy=self._up.proxy, allow_redirects=False
        )
        async with sending as answer:
            self._learn(answer)
            back = {name: answer.headers[name] for name in SENT_BACK if name in answer.headers}
            response = web.StreamResponse(status=answer.status, headers=back | {QUEUED_HEADER: f"{queued_s:.3f}"})
            passage = Passage(response, request, account, self._recorders.get(account.attempt_id))
            try:
                await passage.run(answer, raw, self._up.secret)
            finally:
                self._charge(account, model, answer.status, passage.scanner)
            return response

    def _learn(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status in REFUSALS:
            self._limit.refused(time.monotonic(), _seconds(answer.headers.get("retry-after")))
        elif answer.status == 200:
            self._limit.succeeded()

    def _charge(self, account: Account, model: str | None, status: int, scanner: UsageScanner) -> None:
        account.calls += 1
        if status == 200 and model is not None and scanner.found:
            self.ledger.charge(account, model, scanner.tokens)
        if self._usage_log is not None:
            note_usage(self._usage_log, account.attempt_id, account.usage(self.ledger.prices.version))

    async def _enter(self) -> float:
        """Wait for a place; returns the seconds waited."""
        assert self._returned is not None
        start_s = time.monotonic()
        async with self._returned:
            while (wait_s := self._limit.wait_s(time.monotonic(), self._in_flight)) != 0.0:
                try:
                    await asyncio.wait_for(self._returned.wait(), wait_s)
                except TimeoutError:
                    continue
            self._in_flight += 1
            now_s = time.monotonic()
            self._limit.sent(now_s)
        return now_s - start_s

    async def _leave(self) -> None:
        assert self._returned is not None
        self._in_flight -= 1
        async with self._returned:
            self._returned.notify_all()


class Passage:
    """One answer on its way from the API to whoever asked, metered and kept for the recording."""

    def __init__(
        self, response: web.StreamResponse, request: web.Request, account: Account, recorder: Recorder | None
    ) -> None:
        self.scanner = UsageScanner()
        self._response, self._request, self._recorder = response, request, recorder
        self._kept = bytearray()

    async def run(self, answer: aiohttp.ClientResponse, raw: bytes, key: bytes | None) -> None:
        """Pass everything on. An answer that breaks off breaks off for the asker too, and is recorded so."""
        kind = answer.headers.get("content-type", "")
        streaming = "event-stream" in kind
        await self._response.prepare(self._request)
        broken = False
        try:
            async for chunk in answer.content.iter_any():
                if self._recorder is not None or not streaming:
                    self._kept += chunk
                if streaming:
                    self.scanner.feed(chunk)
                    await self._response.write(without(key, chunk))
        except (aiohttp.ClientError, TimeoutError):
            broken = True
        if not streaming:
            self.scanner.whole(bytes(self._kept))
            await self._response.write(without(key, bytes(self._kept)))
        if self._recorder is not None:
            again = answer.headers.get("retry-after")
            kept = bytes(self._kept)
            await asyncio.to_thread(self._recorder.add, raw, answer.status, kind, kept, broken, again)
        if broken and self._request.transport is not None:
            self._request.transport.abort()


def without(secret: bytes | None, data: bytes) -> bytes:
    """The data with the secret taken out."""
    return data.replace(secret, REMOVED) if secret is not None else data


def token_of(request: web.Request) -> str | None:
    """The attempt's token: in the path, as x-api-key, or as a bearer token."""
    path = request.match_info.get("token")
    if path:
        return path
    bearer = request.headers.get("authorization", "")
    return request.headers.get("x-api-key") or (bearer[7:] if bearer.lower().startswith("bearer ") else None)


def refusal(kind: str, message: str) -> web.Response:
    """An answer of the gateway's own, in the API's form; its type says that it is not the API's."""
    error = {"type": f"passhat_{kind}", "message": f"passhat gateway: {message}"}
    return web.json_response({"type": "error", "error": error}, status=STATUS[kind])


def _model_of(raw: bytes) -> str | None:
    try:
        body = json.loads(raw)
    except ValueError:
        return None
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else None


def _seconds(header: str | None) -> float | None:
    try:
        return max(float(header), 0.0) if header else None
    except ValueError:
        return None
