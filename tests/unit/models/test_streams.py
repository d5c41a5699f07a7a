"""Streams: however the bytes are cut, the events, the reply and the usage are the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.models.metering import UsageScanner
from orchestrator.models.reply import ReplyBuilder, TruncatedReplyError, reply_of
from orchestrator.models.script import ToolUse, Turn, blocks_of
from orchestrator.models.script_server import stream_events
from orchestrator.models.sse import EventParser, StreamError, encode_event
from orchestrator.models.tokens import Tokens

TURN = Turn(
    thinking="hm", text="päng 🎈 and more words than one piece holds", tools=(ToolUse(input={"command": "ls"}),)
)
USAGE = {"input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}


def message(turn: Turn = TURN) -> dict[str, object]:
    blocks = blocks_of(turn, "solve", 0)
    return {"type": "message", "model": "m", "content": blocks, "stop_reason": turn.reason, "usage": USAGE}


def stream(turn: Turn = TURN) -> bytes:
    return b"".join(encode_event(event) for event in stream_events(message(turn), turn))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % len(data) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@given(st.lists(st.integers(0, 10_000), max_size=12), st.booleans())
def test_any_cut_gives_the_same_reply_and_usage(places: list[int], windows: bool) -> None:
    data = stream().replace(b"\n", b"\r\n") if windows else stream()
    parser, builder, scanner = EventParser(), ReplyBuilder(), UsageScanner()
    for chunk in cut(data, places):
        scanner.feed(chunk)
        for event in parser.feed(chunk):
            builder.add(event)
    reply = builder.reply()
    assert reply == reply_of(message())
    assert reply.text == TURN.text
    assert reply.thinking == "hm"
    assert reply.tool_calls[0].input == {"command": "ls"}
    assert scanner.tokens == reply.tokens == Tokens(7, 5, 3, 2, 0)


def test_a_stream_that_ends_early_is_truncated_and_its_usage_known() -> None:
    builder, parser = ReplyBuilder(), EventParser()
    for event in parser.feed(stream()[:-60]):
        builder.add(event)
    with pytest.raises(TruncatedReplyError):
        builder.reply()
    assert builder.usage.input == 7


@pytest.mark.parametrize("raw", ['{"command": ', "[1]", "nonsense", '"text"'])
def test_broken_tool_input_is_kept_as_it_came(raw: str) -> None:
    turn = Turn(tools=(ToolUse(raw_input=raw), ToolUse(input={"command": "ls"})))
    builder, parser = ReplyBuilder(), EventParser()
    for event in parser.feed(stream(turn)):
        builder.add(event)
    broken, fine = builder.reply().tool_calls
    assert (broken.broken, broken.input) == (raw, {})
    assert (fine.broken, fine.input) == (None, {"command": "ls"})


def test_what_is_no_stream_is_said() -> None:
    with pytest.raises(StreamError, match="not JSON"):
        EventParser().feed(b"data: {\n\n")
    with pytest.raises(StreamError, match="not a JSON object"):
        EventParser().feed(b"data: 1\n\n")


@given(st.binary(max_size=400))
def test_the_meter_never_stumbles(data: bytes) -> None:
    scanner = UsageScanner()
    scanner.feed(data)
    scanner.whole(data)
    assert not scanner.found
