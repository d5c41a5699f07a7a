"""The scripted model over HTTP: speaks the Messages API and answers from a script."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping

from aiohttp import web

from orchestrator.models import script as scripts
from orchestrator.models.script import Case, Fault, Script, Turn
from orchestrator.models.serving import ServerThread
from orchestrator.models.sse import encode_event

ATTEMPT_HEADER = "x-passhat-attempt"
"""Names the attempt to a scripted model, so that its luck follows from the seed; never sent to a real API."""

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
PIECE = 24


class ScriptedModel:
    """Answers POST /v1/messages. `requests` holds what came, as (headers, body), where `keep` says so."""

    def __init__(self, script: Script, api_key: str | None = None, keep: bool = False) -> None:
        self.script, self._key, self._keep = script, api_key, keep
        self.requests: list[tuple[dict[str, str], dict[str, object]]] = []
        self._faults: Counter[tuple[str, str, int]] = Counter()
        self._draws = 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64_000_000)
        app.router.add_post("/v1/messages", self._messages)
        return app

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        if self._key is not None and request.headers.get("x-api-key") != self._key:
            return error_response(401, "invalid x-api-key")
        try:
            body = json.loads(await request.read())
        except ValueError:
            return error_response(400, "the body is not JSON")
        if self._keep:
            self.requests.append((dict(request.headers), body))
        if body.get("model") not in self.script.models:
            return error_response(404, f"model: {body.get('model')}")
        case = scripts.find_case(self.script, body)
        if case is None:
            return error_response(400, f"no case of script {self.script.name} matches this conversation")
        branch, number, turn, attempt = self._choose(request, body, case)
        fault = self._fault(turn.fault, attempt, case, number)
        await asyncio.sleep(turn.delay_s)
        if fault is not None and fault.kind in ("status", "hang", "html", "encoding"):
            return await plain_fault(fault)
        blocks = scripts.blocks_of(turn, branch, number)
        message: dict[str, object] = {
            "id": f"msg_{branch}_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": turn.reason,
            "stop_sequence": None,
            "usage": scripts.usage_of(turn, body, blocks),
        }
        if not body.get("stream"):
            return web.json_response(message)
        return await self._stream(request, message, turn, fault)

    def _choose(self, request: web.Request, body: Mapping[str, object], case: Case) -> tuple[str, int, Turn, str]:
        messages = body["messages"]
        assert isinstance(messages, list)
        number = scripts.turn_number(messages)
        attempt = request.headers.get(ATTEMPT_HEADER)
        branch = scripts.branch_of(messages)
        if branch is None:
            if attempt is None:
                self._draws += 1
            won = scripts.succeeds(self.script, str(body["model"]), case, attempt or str(self._draws))
            branch = "solve" if won else "fail"
        turns = (case.solve if branch == "solve" else case.fail) or case.solve
        return branch, number, turns[min(number, len(turns) - 1)], attempt or ""

    def _fault(self, fault: Fault | None, attempt: str, case: Case, number: int) -> Fault | None:
        key = (attempt, case.match, number)
        if fault is None or self._faults[key] >= fault.times:
            return None
        self._faults[key] += 1
        return fault

    async def _stream(
        self, request: web.Request, message: dict[str, object], turn: Turn, fault: Fault | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        events = stream_events(message, turn)
        half = len(events) // 2
        for index, event in enumerate(events):
            if fault is not None and index == half:
                if fault.kind == "error_event":
                    wrong = {"type": "overloaded_error", "message": "Overloaded"}
                    await response.write(encode_event({"type": "error", "error": wrong}))
                    return response
                if fault.kind == "reset" and request.transport is not None:
                    request.transport.abort()
                return response
            await response.write(encode_event(event))
            if turn.event_delay_s:
                await asyncio.sleep(turn.event_delay_s)
        return response


def stream_events(message: Mapping[str, object], turn: Turn) -> list[dict[str, object]]:
    """A whole message as the events of its stream."""
    usage, blocks = message["usage"], message["content"]
    assert isinstance(usage, dict)
    assert isinstance(blocks, list)
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, object]] = [{"type": "message_start", "message": start}]
    raw = iter([tool.raw_input for tool in turn.tools])
    for index, block in enumerate(blocks):
        opened, deltas = _block_events(block, next(raw) if block["type"] == "tool_use" else None)
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}})
    events.append({"type": "message_stop"})
    return events


def _block_events(block: Mapping[str, object], raw: str | None) -> tuple[dict[str, object], list[dict[str, object]]]:
    if block["type"] == "tool_use":
        text = json.dumps(block["input"]) if raw is None else raw
        pieces = _pieces(text, PIECE * 8)
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in pieces]
    key = str(block["type"])
    deltas: list[dict[str, object]] = [{"type": f"{key}_delta", key: p} for p in _pieces(str(block[key]), PIECE)]
    if key == "thinking":
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": key, key: "", "signature": ""}, deltas
    return {"type": key, key: ""}, deltas


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def error_response(status: int, message: str, retry_after_s: float | None = None) -> web.Response:
    """An error in the API's own form."""
    kind = ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    headers = {} if retry_after_s is None else {"retry-after": f"{retry_after_s:g}"}
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return web.json_response(body, status=status, headers=headers)


async def plain_fault(fault: Fault) -> web.Response:
    if fault.kind == "status":
        return error_response(fault.status, fault.message or f"scripted {fault.status}", fault.retry_after_s)
    if fault.kind == "hang":
        await asyncio.sleep(fault.delay_s)
        return error_response(500, "the script hung")
    if fault.kind == "html":
        return web.Response(text="<html><body>Bad gateway</body></html>", content_type="text/html")
    body = json.dumps({"type": "message", "content": [{"type": "text", "text": "päng"}]}).encode("utf-16")
    return web.Response(body=body, headers={"content-type": "application/json"})


def serve_script(model: ScriptedModel, host: str = "127.0.0.1", port: int = 0) -> ServerThread:
    """The scripted model on a port, in a thread; a context manager with `url`."""
    return ServerThread(model.app, host, port)
