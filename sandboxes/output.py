"""A stream of bytes kept to a bound: its head, its tail and how much was dropped. Pure."""

from sandboxes.base import Output

FRAME_HEADER = 8
STDERR = 2


class BoundedOutput:
    """Takes chunks, keeps at most `limit` bytes: the first half as head, the last as tail.

    Memory stays below twice the limit plus one chunk, whatever is fed.
    """

    __slots__ = ("_head", "_head_limit", "_seen", "_tail", "_tail_limit")

    def __init__(self, limit: int) -> None:
        self._head_limit = (max(0, limit) + 1) // 2
        self._tail_limit = max(0, limit) // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0

    def feed(self, chunk: bytes | memoryview) -> None:
        self._seen += len(chunk)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not len(chunk):
            return
        if len(chunk) >= self._tail_limit:
            self._tail[:] = chunk[len(chunk) - self._tail_limit :]
            return
        self._tail += chunk
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def result(self) -> Output:
        tail = bytes(self._tail[-self._tail_limit :]) if self._tail_limit else b""
        head = bytes(self._head)
        return Output(head=head, tail=tail, dropped_bytes=self._seen - len(head) - len(tail))


class Demultiplexer:
    """Splits the engine's multiplexed stream into two bounded outputs.

    A frame is eight bytes (stream, three zeros, big-endian length) and its payload. Frames may be cut
    anywhere; payloads are passed on as they come and never gathered.
    """

    __slots__ = ("_header", "_left", "_target", "stderr", "stdout")

    def __init__(self, limit: int) -> None:
        self.stdout = BoundedOutput(limit)
        self.stderr = BoundedOutput(limit)
        self._header = bytearray()
        self._left = 0
        self._target = self.stdout

    def feed(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while len(view):
            if self._left:
                part = view[: self._left]
                self._target.feed(part)
                self._left -= len(part)
                view = view[len(part) :]
                continue
            need = FRAME_HEADER - len(self._header)
            self._header += view[:need]
            view = view[need:]
            if len(self._header) == FRAME_HEADER:
                self._target = self.stderr if self._header[0] == STDERR else self.stdout
                self._left = int.from_bytes(self._header[4:], "big")
                self._header.clear()
