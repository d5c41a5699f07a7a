"""What the gateway and the agent loop cost, measured against going direct in the same run.

`rows()` -> list of {name, value, unit, aim, holds}. The load generator is a process of its own, so that it
does not share a core's interpreter with what it measures.
"""

import json
import statistics
import subprocess
import sys
from contextlib import ExitStack

from orchestrator.models.gateway import Gateway, GatewayConfig
from orchestrator.models.script import Case, Script, Turn

BODY = {
    "model": "scripted",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": "bench " + "x" * 2000}],
}
TURN = Turn(text="word " * 30, usage={"input_tokens": 10, "output_tokens": 10})
LOOPS = 200

_LOAD = """
import asyncio, json, sys, time
import aiohttp

async def main(url, token, body, total, concurrency):
    times, left = [], [total]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as client:
        async def one():
            while left[0] > 0:
                left[0] -= 1
                begin = time.perf_counter()
                async with client.post(url + "/v1/messages", data=body, headers={"x-api-key": token}) as answer:
                    data = await answer.read()
                    assert answer.status == 200 and b"message_stop" in data, data[:200]
                times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        await asyncio.gather(*[one() for _ in range(concurrency)])
        print(json.dumps({"wall_s": time.perf_counter() - begin, "times": times}))

url, token, body, total, concurrency = sys.argv[1:]
asyncio.run(main(url, token, body.encode(), int(total), int(concurrency)))
"""

_UPSTREAM = """
import asyncio, sys
from aiohttp import web

DATA = sys.stdin.buffer.read()

async def answer(request):
    await request.read()
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    half = DATA.index(b"\\n\\n", len(DATA) // 2) + 2
    await response.write(DATA[:half])
    await response.write(DATA[half:])
    return response

async def main():
    app = web.Application()
    app.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""

_LOOP = """
import resource, sys, threading, time
from orchestrator.agents.base import AgentContext, ModelEndpoint
from orchestrator.agents.settings import ClaudeSettings, build_agent
from sandboxes.base import SandboxRequest
from sandboxes.fake import FakeSandbox, always_succeeds
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot

def rss():
    with open("/proc/self/smaps_rollup") as file:
        fields = dict(line.split()[:2] for line in file if line.startswith(("Pss:", "Rss:")))
    return int(fields["Pss:"]) / 1024

def loop(url):
    image = ImageSnapshot("f", "sha256:0", "recipe", "sha256:0")
    sandbox = FakeSandbox("s", SandboxRequest(image, ResourceSpec(), Placement(), {}, 60.0), always_succeeds)
    context = AgentContext("bench", "a", 600.0, None, None, {}, lambda e: None, time.monotonic, time.sleep,
                           endpoint=ModelEndpoint(url, "t"))
    build_agent(ClaudeSettings(kind="claude", name="c", model="scripted")).run(sandbox, context)

url, loops = sys.argv[1], int(sys.argv[2])
import orchestrator.agents.claude
before = rss()
for _ in range(loops):
    threading.Thread(target=loop, args=(url,), daemon=True).start()
time.sleep(float(sys.argv[3]))
print(before, rss(), flush=True)
import os
os._exit(0)
"""


def rows() -> list[dict[str, object]]:
    """All measurements; about half a minute on two cores."""
    return _gateway_rows() + _memory_rows()


def _gateway_rows() -> list[dict[str, object]]:
    with ExitStack() as stack:
        upstream = stack.enter_context(_Upstream())
        gateway = stack.enter_context(Gateway(GatewayConfig(upstream=upstream.url, max_concurrency=256), "k"))
        endpoint = gateway.register("bench")
        ours, direct = (endpoint.url, endpoint.token), (upstream.url, "k")
        for target in (direct, ours):
            _load(*target, 200, 8)
        pairs = [(_load(*direct, 300, 1), _load(*ours, 300, 1)) for _ in range(3)]
        added_ms = statistics.median(_median(b) - _median(a) for a, b in pairs) * 1000
        begin_cpu = _cpu_s(gateway.pid)
        loaded = [(_load(*direct, 1500, 32), _load(*ours, 1500, 32)) for _ in range(3)]
        cpu_s = (_cpu_s(gateway.pid) - begin_cpu) / (3 * 1500)
        through = statistics.median(1500 / b["wall_s"] for _, b in loaded)
        ratio = statistics.median(a["wall_s"] / b["wall_s"] for a, b in loaded)
    return [
        _row("gateway adds to a request's median", added_ms, "ms", "<= 5", added_ms <= 5),
        _row(
            "gateway processor time per streamed request",
            cpu_s * 1000,
            "ms",
            "<= 2 (500/s on one core)",
            cpu_s <= 0.002,
        ),
        _row("requests/s through the gateway, all on this machine", through, "1/s", "", None),
        _row("the same as a share of going direct", ratio, "ratio", "", None),
    ]


def _memory_rows() -> list[dict[str, object]]:
    with _Hanging() as url:
        before, after = _loops(url, LOOPS)
        alone_before, alone_after = _loops(url, 1)
    each = (after - before) / LOOPS
    alone = max(alone_after, alone_before)
    return [
        _row(f"one of {LOOPS} waiting agent loops in one process", each, "MB", "", None),
        _row(f"{LOOPS} waiting agent loops in one process, in all", after, "MB", "< 8192", after < 8192),
        _row("one waiting agent loop in a process of its own", alone, "MB", "< 40", alone < 40),
    ]


def _row(name: str, value: float, unit: str, aim: str, holds: bool | None) -> dict[str, object]:
    return {"name": name, "value": round(value, 3), "unit": unit, "aim": aim, "holds": holds}


def _median(run: dict[str, object]) -> float:
    times = run["times"]
    assert isinstance(times, list)
    return statistics.median(times)


def _load(url: str, token: str, total: int, concurrency: int) -> dict[str, float]:
    arguments = [sys.executable, "-c", _LOAD, url, token, json.dumps(BODY), str(total), str(concurrency)]
    return json.loads(subprocess.run(arguments, capture_output=True, check=True, timeout=300).stdout)


def _loops(url: str, count: int) -> tuple[float, float]:
    arguments = [sys.executable, "-c", _LOOP, url, str(count), "8" if count > 1 else "2"]
    printed = subprocess.run(arguments, capture_output=True, check=True, timeout=300).stdout.split()
    return float(printed[0]), float(printed[1])


def _cpu_s(pid: int | None) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


class _Upstream:
    """A server that answers the same bytes at once, so that what is measured is the gateway."""

    def __enter__(self) -> "_Upstream":
        from orchestrator.models.script import blocks_of
        from orchestrator.models.script_server import stream_events
        from orchestrator.models.sse import encode_event

        message = {"model": "scripted", "content": blocks_of(TURN, "solve", 0), "stop_reason": "end_turn"}
        message["usage"] = {"input_tokens": 10, "output_tokens": 10}
        data = b"".join(encode_event(event) for event in stream_events(message, TURN))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _UPSTREAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._process.stdin.write(data)
        self._process.stdin.close()
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


class _Hanging:
    """A scripted model that begins its answer and then waits."""

    def __enter__(self) -> str:
        from orchestrator.models.script_server import ScriptedModel, serve_script

        turn = Turn(text="word", event_delay_s=600.0)
        self._server = serve_script(ScriptedModel(Script(cases=(Case(match="", solve=(turn,)),))))
        return self._server.start().url

    def __exit__(self, *_: object) -> None:
        self._server.stop()


if __name__ == "__main__":
    for row in rows():
        print(row)
