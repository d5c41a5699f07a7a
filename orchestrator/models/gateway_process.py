"""The gateway's own process: the only place where the API's key is.

Reads one line of JSON from standard input (orchestrator.models.gateway.GatewayConfig and, unless it names
a key file, the key), answers with one line that holds its port, and ends when standard input is closed,
which the kernel does for an owner that was killed.
"""

import asyncio
import hmac
import json
import os
import secrets
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from aiohttp import web

from orchestrator.models.gateway_server import GatewayServer, Upstream
from orchestrator.models.ledger import Account, Ledger
from orchestrator.models.limiting import AdaptiveLimit
from orchestrator.models.prices import builtin_prices
from orchestrator.models.recording import Store
from orchestrator.models.serving import port_of, start_site

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    """The gateway's other door: a socket in a private folder, for the processes of this user alone; with a token,
    a port for the other nodes of a cluster, and who does not say the token is not let in."""

    def __init__(self, server: GatewayServer, token: str | None = None) -> None:
        self._server, self._token = server, token

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.router.add_post("/register", self._register)
        app.router.add_post("/close/{attempt}", self._close)
        app.router.add_get("/usage/{attempt}", self._usage)
        app.router.add_get("/totals", self._totals)
        app.router.add_post("/budget", self._budget)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        said = request.headers.get("authorization", "").encode()
        if self._token is not None and not hmac.compare_digest(said, f"Bearer {self._token}".encode()):
            return web.json_response({"error": "not let in: wrong token"}, status=401)
        return await handler(request)

    async def _register(self, request: web.Request) -> web.Response:
        asked = await request.json()
        token = secrets.token_urlsafe(24)
        account = Account(asked["attempt_id"], asked["mode"], asked["tape"], asked["budget_usd"])
        try:
            self._server.open(token, account)
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=409)
        return web.json_response({"token": token})

    async def _close(self, request: web.Request) -> web.Response:
        try:
            account = await self._server.close(request.match_info["attempt"])
        except KeyError:
            return web.json_response({"error": "not registered"}, status=404)
        return self._answer(account)

    async def _usage(self, request: web.Request) -> web.Response:
        try:
            return self._answer(self._server.ledger.account(request.match_info["attempt"]))
        except KeyError:
            return web.json_response({"error": "not registered"}, status=404)

    def _answer(self, account: Account) -> web.Response:
        usage = account.usage(self._server.ledger.prices.version)
        return web.json_response({name: getattr(usage, name) for name in usage.__slots__})

    async def _totals(self, request: web.Request) -> web.Response:
        ledger = self._server.ledger
        return web.json_response({"spent_usd": ledger.spent_usd, "sweep_budget_usd": ledger.sweep_budget_usd})

    async def _budget(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self._server.ledger.sweep_budget_usd = asked["sweep_budget_usd"]
        return web.json_response({})


def today() -> date:
    return datetime.now(UTC).date()


def build(config: Mapping[str, object], key: str) -> GatewayServer:
    """The server that a config describes."""
    prices = builtin_prices()
    override = config["prices_file"]
    if override is not None:
        prices = prices.overridden(Path(str(override)).read_text(encoding="utf-8"), str(override))
    budget, rate = config["sweep_budget_usd"], config["rate_per_s"]
    ledger = Ledger(prices, today, float(str(budget)) if budget is not None else None)
    limit = AdaptiveLimit(int(str(config["max_concurrency"])), float(str(rate)) if rate is not None else None)
    recordings = config["recordings"]
    proxy = config["proxy"]
    upstream = Upstream(
        url=str(config["upstream"]).rstrip("/"),
        key=key,
        proxy=str(proxy) if proxy is not None else None,
        idle_timeout_s=float(str(config["idle_timeout_s"])),
        announce=bool(config["announce_attempts"]),
    )
    secrets_kept_out = (upstream.secret,) if upstream.secret is not None else ()
    store = Store(Path(str(recordings)), secrets_kept_out) if recordings is not None else None
    usage_log = config["usage_log"]
    return GatewayServer(upstream, ledger, limit, store, Path(str(usage_log)) if usage_log is not None else None)


async def serve(config: Mapping[str, object], key: str) -> None:
    """Serve both doors until standard input is closed."""
    server = build(config, key)
    public = await start_site(server.app(), str(config["host"]), int(str(config["port"])))
    token = config["control_token"]
    ports = {"port": port_of(public)}
    if token is not None:
        control = await start_site(Control(server, str(token)).app(), str(config["control_host"]), 0)
        ports["control_port"] = port_of(control)
    else:
        control = web.AppRunner(Control(server).app(), access_log=None, shutdown_timeout=0.2)
        await control.setup()
        await web.UnixSite(control, str(config["control"])).start()
    print(json.dumps(ports), flush=True)
    await asyncio.to_thread(_until_closed)
    await control.cleanup()
    await public.cleanup()


def _until_closed() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass


def main() -> int:
    asked = json.loads(sys.stdin.readline())
    key_file = asked.get("key_file")
    try:
        key = Path(key_file).read_text(encoding="utf-8").strip() if key_file else asked["key"]
        asyncio.run(serve(asked, key))
    except (OSError, ValueError) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        return 1
    finally:
        shutil.rmtree(Path(asked["control"]).parent, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
