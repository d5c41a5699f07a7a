"""Real Inspect AI logs give the figures that Inspect logged, and what these leave out is seen."""

import json
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner, Result

from orchestrator.analysis.importers.base import Options, UnreadableImportError
from orchestrator.analysis.importers.inspect_log import read_entry
from orchestrator.analysis.importers.run import import_results
from orchestrator.analysis.quick import quick_table
from orchestrator.cli.main import app
from orchestrator.stats.passk import pass_at_k, pass_hat_k
from orchestrator.storage.schema import trials_schema

LOGS = Path(__file__).parents[2] / "data/inspect"


def passhat(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def rows_of(root: Path) -> list[dict]:
    return ds.dataset(root / "trials", schema=trials_schema(), partitioning="hive").to_table().to_pylist()


def logged(name: str) -> dict[str, dict[str, float]]:
    """What Inspect itself wrote into a log: by reducer, the metrics of the first scorer, and samples counted."""
    with zipfile.ZipFile(LOGS / f"{name}.eval") as archive:
        scores = json.loads(read_entry(archive, "header.json"))["results"]["scores"]
    first = [score for score in scores if score["scorer"] == scores[0]["scorer"]]
    return {
        score["reducer"]: {
            "samples": score["scored_samples"],
            **{key: metric["value"] for key, metric in score["metrics"].items()},
        }
        for score in first
    }


def counts(rows: list[dict], at_least: int = 1) -> tuple[list[int], list[int]]:
    """n and c of every task with so many verdicts."""
    n = Counter(row["task"] for row in rows if row["final"] and row["passed"] is not None)
    c = Counter(row["task"] for row in rows if row["final"] and row["passed"])
    tasks = sorted(task for task in n if n[task] >= at_least)
    return [n[task] for task in tasks], [c[task] for task in tasks]


@pytest.mark.parametrize(
    ("log", "exit_code"), [("errors", 0), ("letters", 1), ("limits", 0), ("retries", 0), ("scorers", 0), ("short", 1)]
)
def test_the_command_gives_pass_at_k_and_pass_hat_k_as_inspect_logged_them(
    tmp_path: Path, log: str, exit_code: int
) -> None:
    found = passhat("import", LOGS / f"{log}.eval", "--results", tmp_path)
    assert found.exit_code == exit_code, found.output
    rows = rows_of(tmp_path)
    compared = 0
    for reducer, figures in logged(log).items():
        if reducer == "mean":
            continue
        k = int(reducer.rpartition("_")[2])
        n, c = counts(rows, at_least=k)
        assert len(n) == figures["samples"]
        ours = pass_at_k(n, c, k) if reducer.startswith("pass_at_") else pass_hat_k(n, c, k)
        assert ours.value == pytest.approx(figures["accuracy"], abs=1e-15)
        compared += 1
    assert compared == {"errors": 8, "letters": 3, "short": 2}.get(log, 1)


@pytest.mark.parametrize("log", ["errors", "letters", "limits", "retries", "short"])
def test_mean_scores_are_those_that_inspect_logged(tmp_path: Path, log: str) -> None:
    import_results(LOGS / f"{log}.eval", str(tmp_path), Options())
    by_task: dict[str, list[float]] = {}
    for row in rows_of(tmp_path):
        if row["score"] is not None:
            by_task.setdefault(row["task"], []).append(row["score"])
    mean = sum(sum(scores) / len(scores) for scores in by_task.values()) / len(by_task)
    assert mean == pytest.approx(logged(log)["mean"]["accuracy"], abs=1e-15)


def test_what_inspect_leaves_out_of_its_means_is_in_the_summary(tmp_path: Path) -> None:
    """Inspect says 5 samples and pass@4 of 4 of them; ours names the sixth, and refuses k where a task has fewer."""
    import_results(LOGS / "errors.eval", str(tmp_path), Options())
    (row,) = quick_table(str(tmp_path))
    assert (row.tasks, row.trials, row.without_verdict, row.infrastructure_failures) == (6, 19, 5, 5)
    assert row.pass_at_1 == pytest.approx(logged("errors")["pass_at_1"]["accuracy"], abs=1e-15)
    assert "1 tasks have no trial with a verdict" in str(row.reason)
    gone = [row for row in rows_of(tmp_path) if row["status"] == "SANDBOX_ERROR"]
    assert Counter(row["task"] for row in gone) == {"gone": 4, "broken": 1}
    assert all("the sandbox went away" in row["failure_message"] for row in gone)


def test_the_aggregate_of_a_log_has_pass_hat_k_bounds_and_intervals(tmp_path: Path) -> None:
    assert passhat("import", LOGS / "errors.eval", "--results", tmp_path).exit_code == 0
    found = passhat("aggregate", tmp_path, "--json")
    assert found.exit_code == 0, found.output
    arms = [row for row in json.loads(found.stdout)["arms"] if row["quoted"]]
    quoted = {row["estimand_statistic"]: row for row in arms if row["estimand_rule"] == "default"}
    assert quoted["pass@1"]["estimate"] == pytest.approx(logged("errors")["pass_at_1"]["accuracy"], abs=1e-12)
    assert quoted["pass^3"]["estimate"] == pytest.approx(logged("errors")["pass_k_3"]["accuracy"], abs=1e-12)
    assert quoted["pass@1"]["low"] < quoted["pass@1"]["estimate"] < quoted["pass@1"]["high"]


def test_a_sample_without_a_score_is_a_row_without_a_verdict_and_a_sentence(tmp_path: Path) -> None:
    found = passhat("import", LOGS / "letters.eval", "--results", tmp_path)
    assert found.exit_code == 1
    assert "unscored_epoch_2" in found.output
    assert "the score nan is no finite number" in found.output
    (row,) = [row for row in rows_of(tmp_path) if row["status"] == "GRADER_ERROR"]
    assert (row["task"], row["repeat"], row["score"], row["passed"]) == ("unscored", 1, None, None)


def test_partial_letters_keep_their_half_point_and_are_no_pass(tmp_path: Path) -> None:
    import_results(LOGS / "letters.eval", str(tmp_path), Options())
    partial = sorted((r for r in rows_of(tmp_path) if r["task"] == "partial"), key=lambda row: row["repeat"])
    assert [(row["score"], row["passed"]) for row in partial] == [(0.5, False)] * 3 + [(1.0, True)]
    assert partial[0]["rewards"] == [("letters", 0.5)]


def test_letters_pass_from_where_the_user_says(tmp_path: Path) -> None:
    assert passhat("import", LOGS / "letters.eval", "--results", tmp_path, "--pass-at", 0.5).exit_code == 1
    assert all(row["passed"] for row in rows_of(tmp_path) if row["task"] == "partial")


def test_attempts_that_inspect_tried_again_are_rows(tmp_path: Path) -> None:
    """Inspect's mean of this log is .875 and nothing in its figures says that four attempts had failed."""
    import_results(LOGS / "retries.eval", str(tmp_path), Options())
    rows = rows_of(tmp_path)
    failed = [row for row in rows if not row["final"]]
    assert [(row["task"], row["attempt"], row["status"]) for row in failed] == [("shaky", 0, "SANDBOX_ERROR")] * 4
    assert all("went away once" in row["failure_message"] for row in failed)
    assert {row["attempt"] for row in rows if row["final"] and row["task"] == "shaky"} == {1}
    (row,) = quick_table(str(tmp_path))
    assert (row.trials, row.infrastructure_failures) == (8, 4)
    assert row.pass_at_1 == pytest.approx(0.875, abs=1e-15)


def test_a_time_limit_is_a_timeout_of_the_agent(tmp_path: Path) -> None:
    import_results(LOGS / "limits.eval", str(tmp_path), Options())
    slow = {row["repeat"]: row["status"] for row in rows_of(tmp_path) if row["task"] == "slow"}
    assert slow == {0: "AGENT_TIMEOUT", 1: "AGENT_TIMEOUT", 2: "PASSED", 3: "PASSED"}


def test_a_stopped_log_says_how_much_is_missing_and_who_was_cancelled(tmp_path: Path) -> None:
    found = passhat("import", LOGS / "stopped.eval", "--results", tmp_path)
    assert found.exit_code == 1
    assert "9 of 12 planned samples are not in the log" in found.output
    statuses = {row["task"]: row["status"] for row in rows_of(tmp_path)}
    assert statuses == {"always": "PASSED", "gone": "SANDBOX_ERROR", "twice": "CANCELLED"}


def test_both_forms_of_a_log_give_the_same_rows(tmp_path: Path) -> None:
    for form in ("eval", "json"):
        assert passhat("import", LOGS / f"short.{form}", "--results", tmp_path / form).exit_code == 1
    archive, text = (
        sorted(rows_of(tmp_path / form), key=lambda row: (row["task"], row["repeat"])) for form in ("eval", "json")
    )
    assert len(archive) == 12
    for one, other in zip(archive, text, strict=True):
        assert {**one, "imported_from": None} == {**other, "imported_from": None}


@pytest.mark.parametrize(("scorer", "passed"), [("match", 7), ("parts.answer", 7), ("parts.form", 8)])
def test_the_scorer_that_decides_can_be_named(tmp_path: Path, scorer: str, passed: int) -> None:
    assert passhat("import", LOGS / "scorers.eval", "--results", tmp_path, "--map", f"score={scorer}").exit_code == 0
    rows = rows_of(tmp_path)
    assert sum(row["passed"] for row in rows) == passed
    assert {name for name, _ in rows[0]["rewards"]} == {"match", "parts.answer", "parts.form"}


@pytest.mark.parametrize(("scorer", "said"), [("parts", r"parts|SCORER\.KEY"), ("judge", "there are match, parts")])
def test_a_scorer_that_cannot_decide_gets_a_sentence(scorer: str, said: str) -> None:
    with pytest.raises(UnreadableImportError, match=said):
        import_results(LOGS / "scorers.eval", None, Options(mapping={"score": scorer}))


def test_a_folder_of_logs_keeps_their_suites_apart(tmp_path: Path) -> None:
    for name in ("limits", "retries"):
        (tmp_path / f"{name}.eval").write_bytes((LOGS / f"{name}.eval").read_bytes())
    found = passhat("import", tmp_path, "--results", tmp_path / "out")
    assert found.exit_code == 0
    assert "2 suites, each under its own name: limits, retries" in found.output
    assert {row.suite for row in quick_table(str(tmp_path / "out"))} == {"limits", "retries"}
