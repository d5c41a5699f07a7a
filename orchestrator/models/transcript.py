"""The one transcript format of all agents: JSON lines, one event each. Pure.

Every line has a `role`: system, user, assistant, tool, or harness for events that are not the agent's. The
rest depends on it:

    system, user   content; a simulated user has name "simulated_user"
    assistant      content, thinking, tool_calls [{id, name, input, broken}], stop_reason, model,
                   usage {input, output, cache_read, cache_write_5m, cache_write_1h}, cost_usd, duration_s
    tool           content, name, tool_call_id, exit_code, is_error, timed_out, duration_s, dropped_bytes
    harness        event (api_retry, context_dropped, agent_result, drift, ...) and its own fields

`time` (UTC) is added when a line is written. What is not known or says nothing is left out. Readers keep
keys they do not know in `fields`.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import zstandard

ROLES = ("system", "user", "assistant", "tool", "harness")


class TranscriptError(ValueError):
    """A line that is no event; the message says which line of what."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line."""

    role: str
    content: str = ""
    time: str | None = None
    name: str | None = None
    event: str | None = None
    thinking: str = ""
    tool_calls: tuple[Mapping[str, object], ...] = ()
    tool_call_id: str | None = None
    exit_code: int | None = None
    is_error: bool = False
    usage: Mapping[str, object] = field(default_factory=dict)
    cost_usd: float | None = None
    model: str | None = None
    duration_s: float | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


_KNOWN = frozenset(Event.__slots__) - {"fields"}


def parse_event(line: str, source: str = "transcript") -> Event:
    """One line as an event. Raises TranscriptError."""
    try:
        data = json.loads(line)
    except ValueError as error:
        raise TranscriptError(f"{source}: not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("role") not in ROLES:
        raise TranscriptError(f"{source}: no event: a role must be one of {', '.join(ROLES)}")
    known = {key: value for key, value in data.items() if key in _KNOWN and value is not None}
    calls = known.pop("tool_calls", ())
    known["content"] = str(known.get("content", ""))
    return Event(
        **known,
        tool_calls=tuple(call for call in calls if isinstance(call, dict)),
        fields={key: value for key, value in data.items() if key not in _KNOWN},
    )


def parse_transcript(text: str, source: str = "transcript") -> list[Event]:
    """All events; empty lines are passed over. Raises TranscriptError naming the line."""
    lines = enumerate(text.splitlines(), 1)
    return [parse_event(line, f"{source}:{number}") for number, line in lines if line.strip()]


def read_transcript(data: bytes, source: str = "transcript") -> list[Event]:
    """Events of a stored file, compressed or not. Raises TranscriptError."""
    if data[:4] == b"\x28\xb5\x2f\xfd":
        try:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
                data = reader.read()
        except zstandard.ZstdError as error:
            raise TranscriptError(f"{source}: cannot be decompressed: {error}") from None
    return parse_transcript(data.decode("utf-8", errors="replace"), source)


def searchable(event: Event) -> Iterator[tuple[str, str]]:
    """What of an event is searched: (where, text). Tool calls by what they were asked to do."""
    if event.content:
        yield event.role, event.content
    if event.thinking:
        yield "thinking", event.thinking
    for call in event.tool_calls:
        yield "call", f"{call.get('name')} {_input_text(call.get('input'))}"


def render(events: Iterable[Event], width: int = 2000) -> Iterator[str]:
    """Lines for a terminal; long texts are shortened to `width` characters, and say so."""
    for event in events:
        if event.role == "harness":
            told = " ".join(f"{key}={value}" for key, value in event.fields.items())
            yield f"--- {event.event or 'event'} {told}".rstrip()
            continue
        head = event.role if event.name is None else f"{event.role} {event.name}"
        if event.exit_code is not None:
            head += f" (exit code {event.exit_code})"
        if event.duration_s is not None:
            head += f" [{event.duration_s:.1f} s]"
        yield f"=== {head}"
        if event.thinking:
            yield f"(thinks) {_short(event.thinking, width)}"
        if event.content:
            yield _short(event.content, width)
        for call in event.tool_calls:
            yield f"> {call.get('name')}: {_short(_input_text(call.get('input')), width)}"


def _input_text(value: object) -> str:
    if isinstance(value, Mapping) and set(value) == {"command"}:
        return str(value["command"])
    return json.dumps(value, ensure_ascii=False, default=str)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[:width]} [... {len(text) - width} characters more]"
