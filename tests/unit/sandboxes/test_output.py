"""Bounded output and the engine's stream format, cut anywhere."""

from hypothesis import given
from hypothesis import strategies as st

from sandboxes.output import BoundedOutput, Demultiplexer

chunks = st.lists(st.binary(max_size=40), max_size=20)


@given(chunks, st.integers(0, 60))
def test_head_tail_and_dropped_account_for_everything(parts, limit):
    output = BoundedOutput(limit)
    for part in parts:
        output.feed(part)
    whole, kept = b"".join(parts), output.result()
    assert len(kept.head) + len(kept.tail) <= limit
    assert len(kept.head) + len(kept.tail) + kept.dropped_bytes == len(whole)
    assert whole.startswith(kept.head)
    assert whole.endswith(kept.tail)
    if len(whole) <= limit:
        assert kept.data == whole


@given(chunks)
def test_how_it_is_cut_does_not_matter(parts):
    whole, in_parts = BoundedOutput(21), BoundedOutput(21)
    whole.feed(b"".join(parts))
    for part in parts:
        in_parts.feed(part)
    assert in_parts.result() == whole.result()


def frame(stream, payload):
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=30)), max_size=12), st.integers(1, 17))
def test_frames_are_sorted_by_stream_however_they_are_cut(frames, cut):
    data = b"".join(frame(stream, payload) for stream, payload in frames)
    streams = Demultiplexer(10_000)
    for start in range(0, len(data), cut):
        streams.feed(data[start : start + cut])
    assert streams.stdout.result().data == b"".join(payload for stream, payload in frames if stream == 1)
    assert streams.stderr.result().data == b"".join(payload for stream, payload in frames if stream == 2)


def test_a_gap_says_how_much_is_missing():
    output = BoundedOutput(4)
    output.feed(b"ab" + b"x" * 100 + b"yz")
    assert output.result().data == b"ab\n[... 100 bytes dropped ...]\nyz"
