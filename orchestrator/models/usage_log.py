"""What attempts have used so far, on the disk: so that what a killed run spent is still on the rows of its attempts.

The gateway appends a line after each call; the last line of an attempt holds its total. The lines outlive the
process, not the machine: nothing is synced. A disk that is full costs lines and nothing else.
"""

import contextlib
import json
import os
from dataclasses import asdict, fields
from pathlib import Path

from orchestrator.models.usage import ModelUsage

_NAMES = {field.name for field in fields(ModelUsage)}


def note_usage(path: Path, attempt_id: str, usage: ModelUsage) -> None:
    """Append what an attempt has used so far. Never raises for what the disk does."""
    line = json.dumps({"attempt_id": attempt_id, **asdict(usage)}) + "\n"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def read_usage(folder: Path) -> dict[str, ModelUsage]:
    """The last known total of every attempt, by its id; a line that was cut off is passed over."""
    found: dict[str, ModelUsage] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            values = _object(line)
            attempt_id = values.pop("attempt_id", None)
            if isinstance(attempt_id, str) and set(values) == _NAMES:
                found[attempt_id] = ModelUsage(**values)  # type: ignore[arg-type]
    return found


def forget_usage(folder: Path) -> None:
    """Take the logs away, once all that they tell is on rows."""
    for path in folder.glob("*.jsonl"):
        path.unlink(missing_ok=True)


def _object(line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
