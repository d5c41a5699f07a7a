"""What an attempt leaves beside its row: bounded, readable by anything, the same bytes for the same content."""

import io
import json
import tarfile
from datetime import UTC, datetime

import pytest
import zstandard

from orchestrator.execution import evidence
from orchestrator.execution.evidence import Recorder, pack_artifacts
from sandboxes.base import FileEntry


def make_recorder() -> Recorder:
    return Recorder(lambda: datetime(2026, 1, 1, tzinfo=UTC))


def events(recorder: Recorder) -> list[dict[str, object]]:
    data = recorder.compressed()
    assert data is not None
    text = zstandard.ZstdDecompressor().decompressobj().decompress(data).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_events_are_lines_in_order_with_their_time() -> None:
    recorder = make_recorder()
    recorder.record({"role": "user", "content": "Do it."})
    recorder.note("agent_ended", ending="finished")
    first, second = events(recorder)
    assert first == {"time": "2026-01-01T00:00:00+00:00", "role": "user", "content": "Do it."}
    assert (second["role"], second["event"], second["ending"]) == ("harness", "agent_ended", "finished")


def test_where_the_agent_did_nothing_there_is_no_transcript() -> None:
    recorder = make_recorder()
    recorder.note("agent_ended", ending="finished")
    assert recorder.compressed() is None


def test_what_is_past_the_bound_is_counted_and_what_is_before_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MAX_TRANSCRIPT_BYTES", 300)
    recorder = make_recorder()
    recorder.record({"role": "tool", "content": "kept"})
    recorder.record({"role": "tool", "content": "x" * 1000})
    recorder.record({"role": "tool", "content": "kept too"})
    assert [event["content"] for event in events(recorder)] == ["kept", "kept too"]
    assert recorder.dropped_bytes > 1000


def test_output_that_the_agent_dropped_is_counted_with_ours() -> None:
    recorder = make_recorder()
    recorder.record({"role": "tool", "content": "...", "dropped_bytes": 70})
    recorder.record({"role": "tool", "content": "..."})
    assert recorder.dropped_bytes == 70


def test_what_was_said_is_what_the_assistant_put_in_words() -> None:
    recorder = make_recorder()
    recorder.record({"role": "assistant", "content": "Hello."})
    recorder.record({"role": "assistant", "content": [{"type": "tool_use"}]})
    recorder.record({"role": "tool", "content": "42"})
    recorder.record({"role": "assistant", "content": "Done."})
    assert recorder.said() == "Hello.\nDone."


def test_text_that_is_no_unicode_does_not_lose_the_event() -> None:
    recorder = make_recorder()
    recorder.record({"role": "tool", "content": "broken \udcff bytes"})
    (event,) = events(recorder)
    assert str(event["content"]).startswith("broken")


ENTRIES = [
    FileEntry("/app", mode=0o755),
    FileEntry("/app/run", b"#!/bin/sh\n", mode=0o755),
    FileEntry("/app/link", link="/etc/passwd"),
]


def test_artifacts_are_a_tar_with_relative_names_modes_and_links() -> None:
    data = zstandard.ZstdDecompressor().decompressobj().decompress(pack_artifacts(ENTRIES))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {m.name: (m.type, m.mode if not m.issym() else None, m.linkname) for m in archive.getmembers()}
        content = archive.extractfile("app/run")
        assert content is not None
        assert content.read() == b"#!/bin/sh\n"
    assert found == {
        "app": (tarfile.DIRTYPE, 0o755, ""),
        "app/run": (tarfile.REGTYPE, 0o755, ""),
        "app/link": (tarfile.SYMTYPE, None, "/etc/passwd"),
    }


def test_the_same_content_gives_the_same_bytes() -> None:
    assert pack_artifacts(ENTRIES) == pack_artifacts(list(ENTRIES))
