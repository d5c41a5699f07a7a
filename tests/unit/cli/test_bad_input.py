"""What the statistics' commands say of rows that cannot bear the number asked for: one sentence, and not exit code 0."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.cli.main import app

A, B = "agent=agent-a", "agent=agent-b"
TWO = (AgentTruth("agent-a"), AgentTruth("agent-b"))
CALM = (SettingTruth(infrastructure=0.0),)


def passhat(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})


def told(result: Result) -> str:
    """What was said, on one line; an error that `main` would print counts."""
    return " ".join(f"{result.stdout} {result.stderr} {result.exception or ''}".split())


def rows(folder: Path, **truth: object) -> Path:
    Simulation.of(Truth(**{"agents": TWO, "settings": CALM, "tasks": 6, "repeats": 3, **truth})).write(folder)  # type: ignore[arg-type]
    return folder


def test_one_task_gives_a_difference_without_an_interval(tmp_path: Path) -> None:
    found = passhat("compare", A, B, "--results", rows(tmp_path, tasks=1))
    assert found.exit_code == 1
    assert "An interval needs 2 shared tasks, and there is 1" in told(found)


def test_k_beyond_the_repeats_is_refused(tmp_path: Path) -> None:
    found = passhat("compare", A, B, "-k", 5, "--results", rows(tmp_path))
    assert found.exit_code != 0
    assert "pass@5 was asked for, but cannot be given" in told(found)
    assert "ask for k up to 3, or run more repeats" in told(found)


def test_too_few_repeats_for_power(tmp_path: Path) -> None:
    found = passhat("power", A, B, "--results", rows(tmp_path, repeats=1))
    assert found.exit_code != 0
    assert "a single trial" in told(found)
    assert "run 2 repeats, or give it" in told(found)


def test_one_day_against_one_that_is_not_there(tmp_path: Path) -> None:
    found = passhat("compare", "day=2026-01-01", "day=2026-01-02", "--results", rows(tmp_path))
    assert found.exit_code != 0
    assert "day=2026-01-02 was asked for, but no row is so. There are day: 2026-01-01." in told(found)


def test_one_task_in_a_summary_has_an_estimate_and_says_why_no_interval(tmp_path: Path) -> None:
    found = passhat("aggregate", rows(tmp_path, tasks=1), "--json")
    assert found.exit_code == 0
    first = next(r for r in json.loads(found.stdout)["arms"] if r["quoted"] and r["estimand_statistic"] == "pass@1")
    assert first["estimate"] is not None
    assert (first["low"], first["high"]) == (None, None)
    assert first["interval_reason"] == "One cluster has no spread between clusters."


@pytest.mark.parametrize("ability", [40.0, -40.0])
def test_all_or_no_passes_keep_an_interval_of_some_width(tmp_path: Path, ability: float) -> None:
    found = passhat("aggregate", rows(tmp_path, agents=(AgentTruth("agent-a", ability=ability),)), "--json")
    assert found.exit_code == 0
    table = json.loads(found.stdout)["arms"]
    first = next(row for row in table if row["quoted"] and row["estimand_statistic"] == "pass@1")
    assert first["high"] - first["low"] > 0.05


def test_no_passes_have_no_cost_per_solved_for_a_gate(tmp_path: Path) -> None:
    root = rows(tmp_path / "r", agents=(AgentTruth("agent-a", ability=-40.0),))
    policy = tmp_path / "gate.toml"
    policy.write_text("max_cost_per_solved_usd = 1.0\n")
    found = passhat("gate", policy, root)
    assert found.exit_code == 1
    assert "cost per solved cannot be given" in told(found)


def test_duplicate_rows_are_left_out_and_said(tmp_path: Path) -> None:
    path = next(rows(tmp_path).rglob("*.parquet"))
    shutil.copy(path, path.with_name("part-again.parquet"))
    found = passhat("aggregate", tmp_path)
    assert "18 rows repeat an attempt that is already there" in told(found)
    assert "left out" in told(found)


def test_mixed_digests_under_one_name_are_said_and_not_compared(tmp_path: Path) -> None:
    for path in sorted(rows(tmp_path).rglob("*.parquet"))[1:]:
        table = pq.read_table(path, partitioning=None)
        place = table.schema.get_field_index("suite_digest")
        pq.write_table(table.set_column(place, "suite_digest", [["f" * 64] * table.num_rows]), path)
    assert "stands for 2 different contents" in told(passhat("aggregate", tmp_path))
    refused = passhat("compare", A, B, "--results", tmp_path)
    assert refused.exit_code != 0
    assert "suite_digest" in told(refused)


def test_unmatched_tasks_are_refused_unless_insisted_on_and_then_marked(tmp_path: Path) -> None:
    for path in sorted(rows(tmp_path).rglob("*.parquet"))[1:]:
        table = pq.read_table(path, partitioning=None)
        pq.write_table(table.filter([name.as_py() != "task-0003" for name in table["task"]]), path)
    refused = passhat("compare", A, B, "--results", tmp_path)
    assert refused.exit_code != 0
    assert "1 tasks have verdicts on one side only (task-0003)" in told(refused)
    assert "--anyway" in told(refused)
    forced = passhat("compare", A, B, "--anyway", "--results", tmp_path)
    assert "MARKED" in told(forced)
