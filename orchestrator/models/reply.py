"""One reply of the model, put together from the events of its stream or read from a whole message. Pure.

Broken JSON in a tool call is kept as it came, so that the agent can be told, and does not end a reply.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.models.tokens import Tokens, merge_usage, tokens_of


class TruncatedReplyError(ValueError):
    """The stream ended before the message did."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model wants to use. `broken` holds the input's text where it is no JSON object."""

    call_id: str
    name: str
    input: Mapping[str, object]
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said: the blocks as the API wants them back, and what can be read from them."""

    blocks: tuple[Mapping[str, object], ...]
    stop_reason: str | None
    tokens: Tokens
    model: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(str(b.get("text", "")) for b in self.blocks if b.get("type") == "text")

    @property
    def thinking(self) -> str:
        return "\n".join(str(b.get("thinking", "")) for b in self.blocks if b.get("type") == "thinking")


@dataclass(slots=True)
class ReplyBuilder:
    """Takes the events of one stream in order; `reply` after message_stop."""

    _blocks: dict[int, dict[str, object]] = field(default_factory=dict)
    _json: dict[int, list[str]] = field(default_factory=dict)
    _usage: dict[str, object] = field(default_factory=dict)
    _model: str | None = None
    _stop_reason: str | None = None
    _stopped: bool = False

    def add(self, event: Mapping[str, object]) -> None:
        """Take one event; kinds that are not known are passed over, as the API may add some."""
        kind = event.get("type")
        if kind == "message_start":
            message = _mapping(event.get("message"))
            self._model = str(message["model"]) if message.get("model") else None
            self._usage = merge_usage(self._usage, _mapping(message.get("usage")))
        elif kind == "content_block_start":
            self._blocks[_index(event)] = dict(_mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            self._delta(_index(event), _mapping(event.get("delta")))
        elif kind == "message_delta":
            reason = _mapping(event.get("delta")).get("stop_reason")
            self._stop_reason = str(reason) if reason else self._stop_reason
            self._usage = merge_usage(self._usage, _mapping(event.get("usage")))
        elif kind == "message_stop":
            self._stopped = True

    def _delta(self, index: int, delta: Mapping[str, object]) -> None:
        kind = delta.get("type")
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        if kind == "input_json_delta":
            self._json.setdefault(index, []).append(str(delta.get("partial_json", "")))
        elif kind in ("text_delta", "thinking_delta", "signature_delta"):
            key = str(kind).removesuffix("_delta")
            block[key] = str(block.get(key, "") or "") + str(delta.get(key, ""))

    @property
    def usage(self) -> Tokens:
        """What is known of the usage so far, also of a stream that broke."""
        return tokens_of(self._usage)

    def reply(self) -> Reply:
        """The whole reply. Raises TruncatedReplyError when message_stop never came."""
        if not self._stopped:
            raise TruncatedReplyError(f"the stream ended after {len(self._blocks)} block(s), before message_stop")
        for index, parts in self._json.items():
            self._blocks[index]["input"] = "".join(parts)
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        return _finish(blocks, self._stop_reason, self.usage, self._model)


def reply_of(message: Mapping[str, object]) -> Reply:
    """The reply in a whole message, as it comes without streaming."""
    content = message.get("content")
    blocks = [dict(block) for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    reason, model = message.get("stop_reason"), message.get("model")
    tokens = tokens_of(_mapping(message.get("usage")))
    return _finish(blocks, str(reason) if reason else None, tokens, str(model) if model else None)


def _finish(blocks: list[dict[str, object]], reason: str | None, tokens: Tokens, model: str | None) -> Reply:
    calls = []
    for block in blocks:
        if block.get("type") != "tool_use":
            continue
        given, broken = block.get("input", {}), None
        if isinstance(given, str):
            given, broken = _parse_input(given)
            block["input"] = given
        calls.append(ToolCall(str(block.get("id")), str(block.get("name")), _mapping(given), broken))
    return Reply(tuple(blocks), reason, tokens, model, tuple(calls))


def _parse_input(text: str) -> tuple[dict[str, object], str | None]:
    if not text:
        return {}, None
    try:
        value = json.loads(text)
    except ValueError:
        return {}, text
    return (value, None) if isinstance(value, dict) else ({}, text)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _index(event: Mapping[str, object]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0
