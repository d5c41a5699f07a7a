"""The computer tool against a real display: a scripted model writes a note by mouse and keyboard in suites/desktop."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from orchestrator.analysis.attempts import screens_reader
from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, run_due
from orchestrator.models.script import Case, Script, ToolUse, Turn
from orchestrator.models.script_server import ScriptedModel, serve_script
from tests.integration.sweeps.conftest import Silent

DESKTOP = Path(__file__).parents[3] / "suites" / "desktop"
SWEEP = """name = "desktop"
suite = "suite"
repeats = 1
retry = {{ max = 0 }}
[[agents]]
name = "sees"
kind = "claude"
model = "scripted"
tools = ["computer"]
[model]
upstream = "{url}"
"""
# The window Notes stands at 120, 60, below the title that the window manager gives it.
ACTIONS: tuple[dict[str, object], ...] = (
    {"action": "screenshot"},
    {"action": "left_click", "coordinate": [240, 190]},
    {"action": "type", "text": "Bring the keys."},
    {"action": "key", "text": "Return"},
    {"action": "type", "text": "Leave at 7:45."},
    {"action": "left_click", "coordinate": [270, 376]},
    {"action": "type", "text": "journey"},
    {"action": "left_click", "coordinate": [5000, 376]},
    {"action": "left_click", "coordinate": [515, 376]},
)


@pytest.mark.docker
def test_a_model_that_sees_and_clicks_passes_and_its_screenshots_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(DESKTOP / "note", tmp_path / "suite" / "note")
    turns = [Turn(tools=(ToolUse(name="computer", input=action),)) for action in ACTIONS]
    model = ScriptedModel(Script(cases=(Case(match="Bring the keys", solve=(*turns, Turn(text="Done."))),)), keep=True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "scripted-key")
    with serve_script(model) as server:
        (tmp_path / "sweep.toml").write_text(SWEEP.format(url=server.url))
        run_due(Request(sweep=tmp_path / "sweep.toml", place=PlaceOptions(inline=True)), Silent, quiet=True)
    found = duckdb.sql(
        f"select * from read_parquet('{tmp_path}/results/trials/**/*.parquet', hive_partitioning = true)"
    )
    row = dict(zip(found.columns, found.fetchall()[0], strict=True))
    assert (row["status"], row["failure_message"]) == ("PASSED", None)
    told = [block for message in model.requests[-1][1]["messages"] for block in answers(message)]
    assert len(told) == len(ACTIONS)
    images = ['"type": "image"' in json.dumps(block) for block in told]
    assert images == [action.get("coordinate") != [5000, 376] for action in ACTIONS]
    assert "outside of the display" in json.dumps(told[7])
    screens = screens_reader([str(tmp_path / "results")])(str(row["artifacts_uri"]))
    assert len([name for name, _ in screens if "screen-" in name]) == len(ACTIONS) - 1


def answers(message: dict[str, object]) -> list[dict[str, object]]:
    content = message["content"]
    return [block for block in content if block["type"] == "tool_result"] if isinstance(content, list) else []
