"""The evidence of an attempt: transcript events and artifacts, bounded and compressed."""

import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import zstandard

from sandboxes.base import FileEntry

MAX_TRANSCRIPT_BYTES = 20_000_000


class Recorder:
    """Collects transcript events as JSON lines; what exceeds the bound is counted, not kept."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._lines: list[bytes] = []
        self._bytes = 0
        self._said: list[str] = []
        self._notes = 0
        self.dropped_bytes = 0

    def record(self, event: Mapping[str, object]) -> None:
        line = json.dumps({"time": self._now().isoformat(), **event}, default=str, ensure_ascii=False).encode(
            "utf-8", errors="replace"
        )
        if event.get("role") == "assistant" and isinstance(event.get("content"), str):
            self._said.append(str(event["content"]))
        dropped = event.get("dropped_bytes")
        self.dropped_bytes += dropped if isinstance(dropped, int) else 0
        if self._bytes + len(line) > MAX_TRANSCRIPT_BYTES:
            self.dropped_bytes += len(line)
            return
        self._bytes += len(line)
        self._lines.append(line)

    def note(self, event: str, **fields: object) -> None:
        """An event of ours, not the agent's."""
        before = len(self._lines)
        self.record({"role": "harness", "event": event, **fields})
        self._notes += len(self._lines) - before

    def said(self) -> str:
        """Everything the agent said in words."""
        return "\n".join(self._said)

    def compressed(self) -> bytes | None:
        """The transcript; None when the agent did nothing that could be recorded."""
        if self._notes == len(self._lines):
            return None
        return zstandard.compress(b"\n".join(self._lines) + b"\n", 3)


def pack_artifacts(entries: Iterable[FileEntry]) -> bytes:
    """A compressed tar of files, folders and links, with relative names, no owner and no time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.path.lstrip("/"))
            info.mode = entry.mode
            if entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
                archive.addfile(info)
            elif entry.data is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
    return zstandard.compress(buffer.getvalue(), 3)
