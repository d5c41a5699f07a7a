"""What an engine says while it builds, pulls or pushes: followed to its end, its last lines kept for an error."""

import time
from collections.abc import Iterator
from typing import Any

from sandboxes.base import ImageError

LAST_LINES = 15


def follow(progress: Iterator[dict[str, Any]], timeout_s: float, failed: str) -> None:
    """Follow the engine's output to its end; ImageError with its last lines when it fails."""
    give_up = time.monotonic() + timeout_s
    lines: list[str] = []
    for item in progress:
        lines += str(item.get("stream") or item.get("status") or "").splitlines()
        lines = [line for line in lines if line.strip()][-LAST_LINES:]
        if "error" in item:
            lines.append(str(item["error"]))
            raise ImageError(f"{failed}; the last lines of the output:\n" + "\n".join(lines))
        if time.monotonic() > give_up:
            raise ImageError(f"{failed} within {timeout_s:.0f} s; the last lines:\n" + "\n".join(lines))
