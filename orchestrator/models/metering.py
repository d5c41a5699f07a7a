"""Reads the usage out of an answer as it passes by, looking only at the events that hold one. Pure."""

import json

from orchestrator.models.tokens import Tokens, merge_usage, tokens_of

MAX_HELD_BYTES = 4_000_000


class UsageScanner:
    """Fed with the bytes of a stream, however cut, or with a whole message."""

    def __init__(self) -> None:
        self.found = False
        self._usage: dict[str, object] = {}
        self._held = b""

    @property
    def tokens(self) -> Tokens:
        return tokens_of(self._usage)

    def feed(self, chunk: bytes) -> None:
        """Take bytes of an event stream. What is no event is passed over: an answer is never held up."""
        data = self._held + chunk
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        end = data.rfind(b"\n\n")
        if end < 0:
            self._held = data[-MAX_HELD_BYTES:]
            return
        complete, self._held = data[:end], data[end + 2 :]
        if b'"usage"' not in complete:
            return
        for block in complete.split(b"\n\n"):
            if b'"usage"' in block:
                self._event(block)

    def whole(self, body: bytes) -> None:
        """Take a whole message."""
        self._take(_object(body))

    def _event(self, block: bytes) -> None:
        for line in block.split(b"\n"):
            if line.startswith(b"data:"):
                event = _object(line[5:])
                message = event.get("message")
                self._take(message if event.get("type") == "message_start" and isinstance(message, dict) else event)

    def _take(self, value: dict[str, object]) -> None:
        usage = value.get("usage")
        if isinstance(usage, dict):
            self.found = True
            self._usage = merge_usage(self._usage, usage)


def _object(data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
