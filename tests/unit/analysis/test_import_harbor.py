"""Real Harbor jobs become rows, and what the tool's own summary leaves out is seen."""

import json
import shutil
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner, Result

from orchestrator.analysis.importers.base import Options
from orchestrator.analysis.importers.run import import_results
from orchestrator.analysis.quick import quick_table
from orchestrator.cli.main import app
from orchestrator.stats.passk import pass_at_k
from orchestrator.storage.schema import trials_schema

HARBOR = Path(__file__).parents[2] / "data/results/harbor"


def passhat(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def rows_of(root: Path) -> list[dict]:
    return ds.dataset(root / "trials", schema=trials_schema(), partitioning="hive").to_table().to_pylist()


def copied(job: str, target: Path) -> Path:
    return Path(shutil.copytree(HARBOR / job, target / job))


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("job", "statuses", "refused"),
    [
        ("b-oracle-n8-c4", {"PASSED": 8}, 0),
        ("p-noreward", {"PASSED": 3, "GRADER_ERROR": 5}, 0),
        ("p-oom", {"FAILED": 1}, 0),
        ("p-sleepy", {"PASSED": 1}, 0),
        ("p-rc", {"GRADER_ERROR": 2}, 0),
        ("p-multi", {"PASSED": 2}, 0),
        ("p-mixed", {"LOST": 4}, 1),
        ("p-KILL", {"PASSED": 4}, 0),
    ],
)
def test_every_harbor_trial_is_a_row(tmp_path: Path, job: str, statuses: dict[str, int], refused: int) -> None:
    report = import_results(HARBOR / job, str(tmp_path), Options())
    assert dict(report.statuses) == statuses
    assert report.refused_count == refused
    rows = rows_of(tmp_path)
    assert Counter(row["status"] for row in rows) == statuses
    for row in rows:
        assert row["imported_from"].startswith(f"harbor: {job}/")
        assert (row["passed"] is None) == (row["origin"] not in ("agent", "resources"))
        assert row["effective_memory_limit_bytes"] is None
    by_task: dict[str, list[int]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row["repeat"])
    assert all(sorted(repeats) == list(range(len(repeats))) for repeats in by_task.values())


def test_what_harbor_leaves_out_of_its_mean_is_visible(tmp_path: Path) -> None:
    import_results(HARBOR / "p-noreward", str(tmp_path), Options())
    (row,) = quick_table(str(tmp_path))
    assert (row.trials, row.without_verdict, row.pass_at_1) == (3, 5, 1.0)


def test_a_graded_timeout_keeps_its_flag_and_phases(tmp_path: Path) -> None:
    import_results(HARBOR / "p-sleepy", str(tmp_path), Options())
    (row,) = rows_of(tmp_path)
    assert row["flags"] == ["graded_after:AgentTimeoutError"]
    assert row["failure_kind"] == "AgentTimeoutError"
    assert row["agent_s"] == pytest.approx(5.0, abs=1.0)


def test_repeats_follow_the_order_of_starts(tmp_path: Path) -> None:
    import_results(HARBOR / "b-oracle-n8-c4", str(tmp_path), Options())
    rows = sorted(rows_of(tmp_path), key=lambda row: row["repeat"])
    assert [row["started_at"] for row in rows] == sorted(row["started_at"] for row in rows)


def test_importing_twice_doubles_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        import_results(HARBOR / "p-noreward", str(tmp_path), Options())
    assert len(rows_of(tmp_path)) == 8


def test_a_dry_run_writes_nothing_and_says_what_is_unknown(tmp_path: Path) -> None:
    report = import_results(HARBOR / "p-oom", None, Options())
    assert not list(tmp_path.iterdir())
    assert "used_oom_kills" in report.unknown
    assert "status" not in report.unknown
    assert report.known["task_digest"] == 1


@pytest.mark.parametrize("job", ["b-oracle-n8-c4", "p-noreward", "p-KILL"])
def test_pass_at_k_is_what_harbor_printed(tmp_path: Path, job: str) -> None:
    """The tool's own figures are over the trials with a reward; so are ours under the default rule."""
    passhat("import", HARBOR / job, "--results", tmp_path)
    (evaluation,) = json.loads((HARBOR / job / "result.json").read_text())["stats"]["evals"].values()
    (row,) = quick_table(str(tmp_path))
    assert row.trials == evaluation["n_trials"]
    assert row.pass_at_1 == evaluation["metrics"][0]["mean"]
    assert row.without_verdict == evaluation["n_errors"]
    passed = sum(bool(found["passed"]) for found in rows_of(tmp_path))
    assert evaluation["pass_at_k"]
    for k, value in evaluation["pass_at_k"].items():
        assert pass_at_k([row.trials], [passed], int(k)).value == value


def test_a_job_in_which_all_trials_errored_has_no_score_and_says_so(tmp_path: Path) -> None:
    """The tool exits 0 after it; the summary of its rows shows no rate and two trials without a verdict."""
    import_results(HARBOR / "p-rc", str(tmp_path), Options())
    (row,) = quick_table(str(tmp_path))
    assert (row.trials, row.without_verdict, row.pass_at_1, row.infrastructure_failures) == (0, 2, None, 2)
    assert {found["failure_kind"] for found in rows_of(tmp_path)} == {"RewardFileNotFoundError"}


def test_an_out_of_memory_kill_that_harbor_does_not_record_stays_unknown(tmp_path: Path) -> None:
    import_results(HARBOR / "p-oom", str(tmp_path), Options())
    (row,) = rows_of(tmp_path)
    assert (row["status"], row["score"], row["failure_kind"]) == ("FAILED", 0.0, None)
    assert (row["used_oom_kills"], row["used_memory_peak_bytes"]) == (None, None)


def test_the_steps_of_a_task_are_added_up(tmp_path: Path) -> None:
    job = copied("p-multi", tmp_path)
    result = job / "multi__onf3UMe" / "result.json"
    steps = json.loads(result.read_text())["step_results"]
    for step in steps:
        step["agent_result"].update(n_input_tokens=100, n_cache_tokens=30, n_output_tokens=7, cost_usd=0.25)
    changed(result, step_results=steps)
    import_results(job, str(tmp_path / "out"), Options())
    rows = {row["imported_from"].rpartition("/")[2]: row for row in rows_of(tmp_path / "out")}
    row = rows["multi__onf3UMe"]
    assert (row["tokens_in"], row["tokens_cache_read"], row["tokens_out"], row["cost_usd"]) == (140, 60, 14, 0.5)
    assert row["agent_s"] == pytest.approx(1.143312 + 0.868773, abs=1e-6)
    assert row["grade_s"] == pytest.approx(1.736390 + 1.520062, abs=1e-6)
    assert dict(row["rewards"]) == {"reward": 1.0, "speed": 0.5}
    assert rows["multi__qNF64jv"]["tokens_in"] is None


def test_trials_without_a_result_are_lost_and_those_without_a_folder_are_counted(tmp_path: Path) -> None:
    found = passhat("import", HARBOR / "p-mixed", "--results", tmp_path)
    assert found.exit_code == 1
    assert "2 of 6 planned trials left no folder" in found.output
    rows = rows_of(tmp_path)
    assert Counter(row["task"] for row in rows) == {"a-noop": 2, "b-noop": 1, "c-offline": 1}
    assert {(row["suite"], row["status"]) for row in rows} == {("mixed", "LOST")}


def test_a_resumed_job_says_that_attempts_may_be_gone(tmp_path: Path) -> None:
    """Killed after 20 s and resumed 20 s later: the tool's results hold no trace but the time before the first."""
    found = passhat("import", HARBOR / "p-KILL", "--results", tmp_path)
    assert found.exit_code == 1
    assert "began 43 s before its first trial" in found.output
    assert passhat("import", HARBOR / "b-oracle-n8-c4", "--results", tmp_path).exit_code == 0


def test_the_zone_of_a_jobs_own_clock_is_no_gap(tmp_path: Path) -> None:
    job = copied("b-oracle-n8-c4", tmp_path)
    told = json.loads((job / "result.json").read_text())
    for key in ("started_at", "finished_at"):
        told[key] = (datetime.fromisoformat(told[key]) - timedelta(hours=5)).isoformat()
    changed(job / "result.json", **told)
    assert passhat("import", job, "--results", tmp_path / "out").exit_code == 0


def test_retries_that_harbor_deleted_are_counted(tmp_path: Path) -> None:
    job = copied("b-oracle-n8-c4", tmp_path)
    stats = json.loads((job / "result.json").read_text())["stats"]
    changed(job / "result.json", stats={**stats, "n_retries": 3})
    found = passhat("import", job, "--results", tmp_path / "out")
    assert found.exit_code == 1
    assert "counts 3 retries, and of the attempts before them nothing is left" in found.output


def test_one_trial_folder_is_one_row(tmp_path: Path) -> None:
    report = import_results(HARBOR / "b-oracle-n8-c4/noop__CYVSUGM", None, Options())
    assert report.rows == 1


def test_a_folder_of_jobs_keeps_them_apart(tmp_path: Path) -> None:
    report = import_results(HARBOR, str(tmp_path), Options())
    assert {row["sweep"] for row in rows_of(tmp_path)} == {job.name for job in HARBOR.iterdir() if job.is_dir()}
    assert report.rows == 30
