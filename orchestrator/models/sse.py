"""Server-sent events: bytes to (event, data) as they arrive, and back. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_EVENT_BYTES = 8_000_000


class StreamError(ValueError):
    """A stream that is no stream of server-sent events."""


@dataclass(slots=True)
class EventParser:
    """Fed with chunks, however cut, it returns the JSON payloads of the events that became complete."""

    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> list[dict[str, object]]:
        """Raises StreamError for an event that never ends or whose data is no JSON object."""
        self._buffer += chunk
        if b"\n" not in chunk:
            self._check()
            return []
        text = bytes(self._buffer).replace(b"\r\n", b"\n")
        blocks = text.split(b"\n\n")
        self._buffer = bytearray(blocks.pop())
        self._check()
        return [payload for block in blocks if (payload := _payload(block)) is not None]

    def _check(self) -> None:
        if len(self._buffer) > MAX_EVENT_BYTES:
            raise StreamError(f"an event of more than {MAX_EVENT_BYTES} bytes")


def encode_event(payload: Mapping[str, object]) -> bytes:
    """One event, named by the payload's type."""
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f"event: {payload['type']}\ndata: {data}\n\n".encode()


def _payload(block: bytes) -> dict[str, object] | None:
    lines = [line[5:].lstrip(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
    if not lines:
        return None
    try:
        value = json.loads(b"\n".join(lines))
    except ValueError as error:
        raise StreamError(f"event data is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise StreamError("event data is not a JSON object")
    return value
