"""A task graded by a model, against the scripted model over real HTTP: verdict, version and cost reach the row."""

from pathlib import Path

import duckdb
import pytest

from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, run_due
from orchestrator.models.script import Behaviour, Case, Script, Turn
from orchestrator.models.script_server import ScriptedModel, serve_script
from tests.integration.sweeps.conftest import Silent

TASK = """[environment]
docker_image = "passhat-base:bookworm"
network_mode = "no-network"
[passhat]
grading = "shared"
[[passhat.graders]]
kind = "judge"
prompt = "Is the greeting polite?"
version = "polite-2"
"""
SWEEP = """name = "judged"
suite = "suite"
repeats = 1
agents = [{{ name = "nop", kind = "nop" }}]
retry = {{ max = 0 }}
[model]
upstream = "{url}"
[model.judge]
model = "scripted-judge"
"""


def graded(folder: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The one row of a sweep whose judge answers with these words."""
    task = folder / "suite" / "greeting"
    (task / "tests").mkdir(parents=True)
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Greet.\n")
    case = Case(match="polite", solve=(Turn(text=words),))
    script = Script(models={"scripted-judge": Behaviour()}, cases=(case,))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "scripted-key")
    with serve_script(ScriptedModel(script)) as server:
        sweep = folder / "sweep.toml"
        sweep.write_text(SWEEP.format(url=server.url))
        run_due(Request(sweep=sweep, place=PlaceOptions(inline=True)), Silent, quiet=True)
    found = duckdb.sql(f"select * from read_parquet('{folder}/results/trials/**/*.parquet', hive_partitioning = true)")
    (row,) = found.fetchall()
    return dict(zip(found.columns, row, strict=True))


@pytest.mark.docker
def test_a_judges_verdict_version_and_cost_stand_on_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = graded(tmp_path, "It is.\nVERDICT: PASS", monkeypatch)
    assert row["status"] == "PASSED"
    assert row["judge_verdict"] == "PASS"
    assert str(row["judge_version"]).startswith("judge-1/polite-2/scripted-judge/")
    assert row["judge_cost_usd"] > 0


@pytest.mark.docker
def test_a_verdict_that_cannot_be_read_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = graded(tmp_path, "Rather polite, I would say.", monkeypatch)
    assert row["status"] == "GRADER_ERROR"
    assert row["passed"] is None
    assert row["score"] is None
