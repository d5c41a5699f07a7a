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
    assert found.exit_code == 1
    assert (
        "pass@1 has no interval: One cluster has no spread between clusters." in passhat("aggregate", tmp_path).stderr
    )
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


def test_rows_that_are_there_twice_are_counted_once_everywhere_and_told(tmp_path: Path) -> None:
    root = rows(tmp_path, settings=(SettingTruth("3x", infrastructure=0.0),))
    once = json.loads(passhat("summary", root, "--json").stdout)
    file = next(Path(root).rglob("trials/**/*.parquet"))
    shutil.copy(file, file.with_name("part-copy-000000.parquet"))
    shown = passhat("summary", root)
    assert "rows repeat an attempt that is already there" in shown.stdout
    assert json.loads(passhat("summary", root, "--json").stdout) == once
    policy = tmp_path / "policy.toml"
    policy.write_text('minimum = [{ statistic = "pass@1", at_least = 0.0 }]\n')
    gate = passhat("gate", policy, root)
    assert gate.exit_code == 0, gate.output
    assert "rows repeat an attempt" in gate.stdout


def test_a_name_that_stands_for_two_contents_decides_nothing(tmp_path: Path) -> None:
    root = rows(tmp_path, agents=(AgentTruth("a"), AgentTruth("b")), settings=(SettingTruth("3x", infrastructure=0.0),))
    for file in sorted(Path(root).rglob("trials/**/*.parquet")):
        table = pq.ParquetFile(file).read()
        changed = [
            f"other {task}" if repeat else digest
            for task, repeat, digest in zip(
                *(table[n].to_pylist() for n in ("task", "repeat", "task_digest")), strict=True
            )
        ]
        pq.write_table(table.set_column(table.schema.get_field_index("task_digest"), "task_digest", [changed]), file)
    sides = ("agent=a", "agent=b", "--results", root)
    refused = passhat("compare", *sides)
    assert refused.exit_code != 0
    assert "stands for 2 different contents" in told(refused)
    assert "stands for 2 different contents" in told(passhat("compare", *sides, "--anyway"))
    for words in (("summary", root), ("aggregate", root)):
        found = passhat(*words)
        assert found.exit_code == 1
        assert "stands for 2 different contents" in found.stdout
    policy = tmp_path / "policy.toml"
    policy.write_text('minimum = [{ statistic = "pass@1", at_least = 0.0 }]\n')
    assert passhat("gate", policy, root).exit_code == 1


def test_what_other_agents_stand_for_spoils_no_score_of_this_one(tmp_path: Path) -> None:
    root = rows(tmp_path, settings=(SettingTruth("3x", infrastructure=0.0),), tasks=12)
    for file in sorted(root.rglob("trials/**/agent=agent-b/**/*.parquet")):
        table = pq.ParquetFile(file).read()
        digest = [str(number % 2) for number in range(table.num_rows)]
        pq.write_table(table.set_column(table.schema.get_field_index("agent_digest"), "agent_digest", [digest]), file)
    assert passhat("aggregate", root).exit_code == 1
    assert passhat("aggregate", root, "--select", A).exit_code == 0
    policy = tmp_path / "policy.toml"
    policy.write_text(f'arm = "{A}"\nminimum = [{{ statistic = "pass@1", at_least = 0.0 }}]\n')
    assert passhat("gate", policy, root).exit_code == 0


def test_a_gate_does_not_hold_for_an_arm_without_a_verdict(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("agent,task,status\n" + "".join(f"a,{t},PASSED\n" for t in "wxyz") + "b,x,LOST\n")
    assert passhat("import", path, "--results", tmp_path / "out").exit_code == 0
    policy = tmp_path / "policy.toml"
    policy.write_text('minimum = [{ statistic = "pass@1", at_least = 0.1 }]\n')
    found = passhat("gate", policy, tmp_path / "out")
    assert found.exit_code == 1
    assert "b/unknown/live: 1 of 1 trials ended without a verdict" in told(found)


def test_trials_without_a_verdict_are_told_and_an_arm_of_nothing_else_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "agent,task,status\n"
        + "".join(f"a,{t},{s}\n" for t in "xy" for s in ("PASSED", "FAILED", "LOST"))
        + "b,x,LOST\n"
    )
    assert passhat("import", path, "--results", tmp_path / "out").exit_code == 0
    found = passhat("aggregate", tmp_path / "out")
    assert "a/unknown/live: 2 of 6 trials ended without a verdict (2 LOST) and are in no score." in found.stdout
    assert (
        "b/unknown/live: 1 of 1 trials ended without a verdict (1 LOST): it is in no table of scores." in found.stdout
    )
    assert found.exit_code == 1


def test_a_baseline_that_is_no_setting_and_a_negative_seed(tmp_path: Path) -> None:
    root = rows(tmp_path)
    found = passhat("aggregate", root, "--baseline", "zz")
    assert found.exit_code != 0
    assert "The baseline 'zz' was asked for, but the resource settings are" in told(found)
    assert passhat("aggregate", root, "--seed", "-1").exit_code == 2


def test_a_gate_on_two_suites_compares_within_its_own(tmp_path: Path) -> None:
    for suite in ("one", "two"):
        Simulation.of(Truth(suite=suite, agents=(AgentTruth("a"), AgentTruth("b")), tasks=12, repeats=4)).write(
            tmp_path / suite
        )
    policy = tmp_path / "policy.toml"
    policy.write_text('arm = "agent=a suite=one"\nnon_inferior = [{ baseline = "agent=b suite=one", margin = 0.9 }]\n')
    found = passhat("gate", policy, tmp_path / "one", tmp_path / "two")
    assert "add suite=NAME" not in found.stdout
    assert found.exit_code == 0, found.output


def test_the_summary_of_other_outcomes_has_another_name(tmp_path: Path) -> None:
    root = rows(tmp_path)
    first = json.loads(passhat("aggregate", root, "--json").stdout)["provenance"]
    for file in sorted(Path(root).rglob("trials/**/*.parquet")):
        table = pq.ParquetFile(file).read()
        status = ["PASSED" if value == "FAILED" else value for value in table["status"].to_pylist()]
        pq.write_table(table.set_column(table.schema.get_field_index("status"), "status", [status]), file)
    second = json.loads(passhat("aggregate", root, "--json").stdout)["provenance"]
    assert first["data_hash"] != second["data_hash"]
    assert first["summary_id"] != second["summary_id"]


@pytest.mark.parametrize("value", ["inf", "nan"])
def test_a_variance_that_is_no_finite_number(value: str) -> None:
    found = passhat("power", "--omega2", value, "--sigma2", "0.1", "--difference", "0.03")
    assert found.exit_code == 2
    assert "Invalid value" in told(found)


def test_one_folder_given_twice_is_one_folder(tmp_path: Path) -> None:
    root = rows(tmp_path)
    once, twice = (json.loads(passhat("aggregate", *roots, "--json").stdout) for roots in ((root,), (root, root)))
    assert once["arms"] == twice["arms"]


@pytest.mark.parametrize("ability", [40.0, -40.0])
def test_sides_that_are_the_same_on_every_task_have_no_interval_of_width_0(tmp_path: Path, ability: float) -> None:
    agents = tuple(AgentTruth(name, ability=ability) for name in ("agent-a", "agent-b"))
    found = passhat("compare", A, B, "--results", rows(tmp_path, agents=agents, tasks=12))
    assert found.exit_code == 1
    assert "no interval, no task differs, which shows no spread; up to 22.1% of tasks like these may still" in told(
        found
    )
    assert "+0.0 to +0.0" not in found.stdout


def test_a_difference_of_rates_stays_within_100_points(tmp_path: Path) -> None:
    agents = (AgentTruth("agent-a", ability=3.0), AgentTruth("agent-b", ability=-3.0))
    found = passhat("compare", A, B, "--results", rows(tmp_path, agents=agents, tasks=2, repeats=4), "--json")
    for row in json.loads(found.stdout):
        if row["statistic"].startswith("pass") and row["low"] is not None:
            assert -1 <= row["low"] <= row["high"] <= 1


def test_scores_that_are_no_numbers_are_told(tmp_path: Path) -> None:
    root = rows(tmp_path)
    for file in sorted(root.rglob("trials/**/*.parquet")):
        table = pq.ParquetFile(file).read()
        score = [float("nan")] * table.num_rows
        pq.write_table(table.set_column(table.schema.get_field_index("score"), "score", [score]), file)
    assert "trials passed or failed and tell no number as score" in told(passhat("aggregate", root))


def test_a_gate_does_not_take_what_a_table_cannot_tell_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("agent,task,passed\na,x,1\na,y,0\n")
    assert passhat("import", tmp_path / "t.csv", "--results", tmp_path / "out").exit_code == 0
    policy = tmp_path / "policy.toml"
    policy.write_text("max_infrastructure_failure_rate = 0.0\n")
    found = passhat("gate", policy, tmp_path / "out")
    assert found.exit_code == 1
    assert "whether there were any is unknown" in told(found)
    assert passhat("gate", policy, rows(tmp_path / "ours")).exit_code == 0
