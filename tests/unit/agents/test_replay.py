"""Replaying transcripts: the same calls, and drift where the sandbox answers otherwise."""

import json
from pathlib import Path

import pytest
import zstandard

from orchestrator.agents.replay import ReplayAgent
from orchestrator.agents.settings import ReplaySettings
from sandboxes.fake import answered

LINES = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "Do {model} things.\n"},
    {"role": "assistant", "tool_calls": [{"id": "1", "name": "bash", "input": {"command": "one"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "same"},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "2", "name": "bash", "input": {"command": "two"}},
            {"id": "3", "name": "bash", "input": {}, "broken": "{"},
        ],
    },
    {"role": "tool", "tool_call_id": "2", "content": "recorded"},
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    text = "\n".join(json.dumps(line) for line in LINES)
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab/x.jsonl.zst").write_bytes(zstandard.compress(text.encode()))
    (tmp_path / "ab/x.tar.zst").write_bytes(b"not a transcript")
    return tmp_path


def replay(source: Path, **changes: object) -> ReplayAgent:
    return ReplayAgent(ReplaySettings(kind="replay", name="r", source=str(source), **changes))


def test_the_calls_are_made_again_and_agreement_is_silent(place, context, events, source: Path) -> None:
    says = {"one": b"same", "two": b"recorded"}
    sandbox = place(lambda s, c: answered(0, says[c.argv[2].splitlines()[-1]]))
    result = replay(source).run(sandbox, context())
    assert [c.argv[2].splitlines()[-1] for c in sandbox.commands] == ["one", "two"]
    assert (result.ending, result.flags) == ("finished", ())
    assert all(event["role"] == "tool" for event in events)


def test_a_different_result_is_drift(place, context, events, source: Path) -> None:
    sandbox = place(lambda s, c: answered(0, b"same"))
    result = replay(source).run(sandbox, context())
    assert result.flags == ("drift",)
    (drift,) = [event for event in events if event.get("event") == "drift"]
    assert "-recorded" in str(drift["diff"])
    assert "+same" in str(drift["diff"])
    assert replay(source, compare="off").run(sandbox, context()).flags == ()


def test_a_task_without_a_transcript_is_an_error(place, context, source: Path) -> None:
    sandbox = place()
    assert replay(source).run(sandbox, context(instruction="Something else")).ending == "error"
    (source / "ab/broken.jsonl").write_text("nonsense\n")
    assert "broken.jsonl:1" in replay(source).run(sandbox, context()).message
