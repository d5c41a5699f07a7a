"""The commands over a results folder: transcript, grep, judge run, list and check, model."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer
import zstandard
from typer.testing import CliRunner

from orchestrator.cli import judge, model, transcript
from orchestrator.core.columns import empty_row
from orchestrator.models.script import Case, Script, Turn
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from orchestrator.storage.transcripts import write_blob

APP = typer.Typer()
APP.command("transcript")(transcript.command)
APP.command("grep")(transcript.grep_command)
APP.add_typer(judge.app, name="judge")
APP.add_typer(model.app, name="model")
TASKS = 6


def call(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(APP, list(words))
    assert result.exit_code == code, result.output + repr(result.exception)
    return result.output


@pytest.fixture
def results(tmp_path: Path) -> str:
    """Two arms on six tasks; the second arm reads the tests on task 3."""
    root = Root(tmp_path / "results")
    now = datetime.now(UTC)
    with RowStore(root, "s1", "w1") as store:
        for arm in ("one", "two"):
            for task in range(TASKS):
                look = "cat /tests/x.py" if (arm, task) == ("two", 3) else "ls"
                call_made = {"id": "c", "name": "bash", "input": {"command": look}}
                lines = [
                    {"role": "user", "content": f"Solve task {task}."},
                    {"role": "assistant", "content": f"I did task {task}.", "tool_calls": [call_made]},
                ]
                data = zstandard.compress("\n".join(json.dumps(line) for line in lines).encode())
                attempt = f"{arm}{task}-0"
                uri, digest = write_blob(root, "s1", attempt, ".jsonl.zst", data)
                row = empty_row() | {
                    "schema_version": 1, "sweep": "s1", "suite": "x", "task": f"t{task}", "agent": arm,
                    "resources": "1x", "lane": "live", "arm": f"{arm}/1x/live", "wave": 0, "day": now.date().isoformat(),
                    "repeat": 0, "attempt": 0, "final": True, "trial_key": f"{arm}{task}", "attempt_id": attempt,
                    "status": "PASSED" if task % 2 else "FAILED", "origin": "agent", "passed": bool(task % 2),
                    "suspect": False, "started_at": now.isoformat(), "finished_at": now.isoformat(),
                    "transcript_uri": uri, "transcript_sha256": digest,
                }  # fmt: skip
                store.add(row)
        store.commit()
    return str(root.location)


def test_a_transcript_is_shown_and_exported(results: str) -> None:
    shown = call("transcript", "two3-0", "--results", results)
    assert "t3  two/1x/live  PASSED" in shown
    assert "> bash: cat /tests/x.py" in shown
    document = json.loads(call("transcript", "two3-0", "--results", results, "--atif"))
    assert document["agent"]["name"] == "two"
    assert len(call("transcript", "two3-0", "--results", results, "--json").splitlines()) == 2
    assert "no attempt" in call("transcript", "nobody-0", "--results", results, code=1)


def test_grep_finds_the_one_that_read_the_tests(results: str) -> None:
    found = [json.loads(line) for line in call("grep", "--results", results, "--json").splitlines()]
    assert [(hit["attempt_id"], hit["pattern"]) for hit in found] == [("two3-0", "read-tests")]
    assert len(call("grep", "I did task [12]", "--results", results).splitlines()) == 4
    assert "nothing found" in call("grep", "zebra", "--results", results, code=1)
    assert "no ready pattern" in call("grep", "--ready", "zebra", "--results", results, code=2)


def test_a_judge_grades_what_is_stored_once_and_is_calibrated(results: str, serve, tmp_path: Path) -> None:
    says = {n: "PASS" if n % 2 or n == 4 else "FAIL" for n in range(5)}
    cases = [
        Case(match=f"Solve task {n}.", solve=(Turn(text=f"Reasons.\nVERDICT: {word}"),)) for n, word in says.items()
    ]
    cases.append(Case(match="Solve task 5.", solve=(Turn(text="I think it passes"),)))
    scripted, url = serve(script=Script(cases=tuple(cases)))
    rubric = tmp_path / "rubric.md"
    rubric.write_text("It passes when the task is done.")
    ask = ["judge", "run", results, "--rubric", str(rubric), "--model", "scripted", "--upstream", url]
    assert "12 grades to give" in call(*ask)
    assert "0 grades to give, 12 there already" in call(*ask)
    assert len(scripted.requests) == 12
    assert "12 grades to give, 12 there already" in call(*ask, "--times", "2")
    asked = str([body for _, body in scripted.requests])
    assert "one/1x" not in asked
    assert "two/1x" not in asked
    assert "24 grades of 12 attempts, 4 unclear" in call("judge", "list", results)
    checked = json.loads(call("judge", "check", results, "--json"))
    assert checked["unclear"] == 4
    assert [name for name, _ in checked["arms"]] == ["one/1x/live", "two/1x/live"]
    for _, arm in checked["arms"]:
        assert sum(map(sum, arm["table"])) == 5
        assert (arm["agreement"]["value"], arm["sensitivity"]["value"]) == (0.8, 1.0)
    assert checked["gap"]["by_judge"]["difference"]["value"] == 0.0
    labels = tmp_path / "people.csv"
    labels.write_text("attempt_id,passed\n" + "".join(f"one{n}-0,{int(says[n] == 'PASS')}\n" for n in says))
    people = json.loads(call("judge", "check", results, "--labels", str(labels), "--json"))
    assert [arm["agreement"]["value"] for _, arm in people["arms"]] == [1.0]
    printed = call("judge", "check", results)
    assert "judge judge-1/1/scripted/" in printed
    assert "0.0 points as the judge sees it, 0.0 as known" in printed
    assert checked["repeatability"]["attempts"] == 10
    assert "against itself: 0 of 10 grades changed when given again" in printed


def test_prices_and_an_example_script_are_printed() -> None:
    assert "claude-haiku-4-5" in call("model", "prices", "claude-haiku-4-5")
    assert "no price is known" in call("model", "prices", "zebra", code=1)
    assert Script.model_validate_json(call("model", "example")).name == "example"
    call("model", "serve-script", code=2)
