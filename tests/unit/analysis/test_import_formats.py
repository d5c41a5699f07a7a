"""tau-bench, SWE-bench, promptfoo and Claude loops: what they tell becomes rows, what they hide is said."""

import json
import shutil
import tracemalloc
from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner, Result

from orchestrator.analysis.importers import run
from orchestrator.analysis.importers.base import Options, UnreadableImportError
from orchestrator.analysis.importers.run import import_results
from orchestrator.analysis.quick import quick_table
from orchestrator.cli.main import app
from orchestrator.storage.schema import trials_schema

RESULTS = Path(__file__).parents[2] / "data/results"
TAU = RESULTS / "tau-bench/tool-calling-gpt-4o-0.0_range_0-7_user-gpt-4o-llm.json"
TAU2, TAU2_FOLDER = RESULTS / "tau-bench/tau2_airline.json", RESULTS / "tau-bench/tau2_voice"
SWE = RESULTS / "swe-bench/agent-v1.5__claude.nightly.json"
PROMPTFOO = RESULTS / "promptfoo/output.json"
LOOP, HEADLESS = RESULTS / "claude-loop/loop.jsonl", RESULTS / "claude-loop/headless"
FORMATS = {TAU: "tau-bench", TAU2: "tau-bench", TAU2_FOLDER: "tau-bench", SWE: "swe-bench", PROMPTFOO: "promptfoo",
           LOOP: "claude-loop", HEADLESS: "claude-loop"}  # fmt: skip


def passhat(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def imported(path: Path, folder: Path) -> list[dict]:
    assert passhat("import", path, "--results", folder).exit_code in (0, 1)
    return ds.dataset(folder / "trials", schema=trials_schema(), partitioning="hive").to_table().to_pylist()


@pytest.mark.parametrize(("path", "name"), FORMATS.items(), ids=lambda value: getattr(value, "name", value))
def test_every_format_is_recognised_and_a_dry_run_says_what_is_known(tmp_path: Path, path: Path, name: str) -> None:
    found = passhat("import", path, "--results", tmp_path, "--dry-run", "--json")
    told = json.loads(found.stdout)
    assert told["format"] == name
    assert told["rows"] == sum(told["statuses"].values()) > 0
    assert {"status", "task", "agent"} <= set(told["known"])
    assert {"used_oom_kills", "snapshot_id"} <= set(told["unknown"])
    assert list(tmp_path.iterdir()) == []


def test_tau_bench_gives_the_rates_of_its_trials(tmp_path: Path) -> None:
    rows = imported(TAU, tmp_path)
    (row,) = quick_table(str(tmp_path))
    assert (row.tasks, row.trials, row.without_verdict) == (7, 24, 1)
    assert row.pass_at_1 == pytest.approx(3 / 24)
    assert {row["turns"] for row in rows if row["task"] == "0"} == {15, 12, 11, 22}


def test_an_attempt_that_raised_in_tau_bench_is_no_failure_of_the_agent(tmp_path: Path) -> None:
    """The tool writes it as reward 0 and counts it."""
    (row,) = [row for row in imported(TAU, tmp_path) if row["task"] == "6"]
    assert (row["status"], row["passed"], row["failure_message"]) == (
        "SANDBOX_ERROR",
        None,
        "litellm.RateLimitError: 429",
    )


def test_tau2_bench_tells_domain_agent_endings_and_what_is_missing(tmp_path: Path) -> None:
    found = passhat("import", TAU2, "--results", tmp_path)
    assert (found.exit_code, "1 of 12 planned simulations are not there" in found.output) == (1, True)
    rows = imported(TAU2, tmp_path)
    assert {(row["suite"], row["agent"]) for row in rows} == {("tau2-bench/airline", "llm_agent+claude-sonnet-4-5")}
    endings = {(row["task"], row["repeat"]): (row["status"], row["failure_kind"]) for row in rows}
    assert endings["2", 0] == ("FAILED", "max_steps")
    assert endings["3", 0] == ("SANDBOX_ERROR", "infrastructure_error")
    assert endings["4", 0] == ("AGENT_ERROR", "context_window_exceeded")
    assert endings["4", 1] == ("AGENT_TIMEOUT", "timeout")
    assert rows[0]["total_s"] == pytest.approx(8.5)
    assert dict(rows[0]["rewards"])["DB"] == rows[0]["score"]


def test_a_folder_of_simulations_is_read_and_a_lost_file_is_missed(tmp_path: Path) -> None:
    assert len(imported(TAU2_FOLDER, tmp_path / "a")) == 2
    folder = Path(shutil.copytree(TAU2_FOLDER, tmp_path / "voice"))
    (folder / "simulations/sim-0-1.json").unlink()
    for path in (folder, folder / "results.json"):
        found = passhat("import", path, "--results", tmp_path / "b")
        assert (found.exit_code, "1 of 2 planned simulations are not there" in found.output) == (1, True)


def test_swe_bench_gives_its_resolved_tasks_and_names_the_others(tmp_path: Path) -> None:
    assert passhat("import", SWE, "--results", tmp_path).exit_code == 0
    rows = {row["task"]: row for row in imported(SWE, tmp_path)}
    report = json.loads(SWE.read_text())
    assert {task for task, row in rows.items() if row["passed"]} == set(report["resolved_ids"])
    assert len(rows) == report["total_instances"]
    assert {(row["agent"], row["sweep"]) for row in rows.values()} == {("agent-v1.5__claude", "nightly")}
    kinds = {task: (row["status"], row["failure_kind"]) for task, row in rows.items() if not row["passed"]}
    assert kinds["pytest-dev__pytest-5227"] == ("GRADER_ERROR", "error_ids")
    assert kinds["django__django-11039"] == ("FAILED", "empty_patch_ids")
    assert kinds["sympy__sympy-11400"] == ("LOST", "incomplete_ids")
    assert kinds["django__django-11019"] == ("FAILED", None)


def test_what_swe_bench_itself_takes_for_the_environments_doing_is_not_the_agents(tmp_path: Path) -> None:
    rows = {row["task"]: row for row in imported(SWE, tmp_path)}
    sure, unsure = rows["django__django-11099"], rows["django__django-11133"]
    assert (sure["status"], sure["failure_kind"]) == ("SANDBOX_ERROR", "container_unavailable")
    assert "scored_0_by_harness" in sure["flags"]
    assert unsure["status"] == "FAILED"
    assert "ambiguous_failure:missing_module" in unsure["flags"]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"resolved_ids": ["a"], "unresolved_ids": ["b"], "resolved_instances": 2}, "counts 2 resolved tasks and lists 1"),
        ({"resolved_ids": ["a"], "unresolved_ids": ["b"], "total_instances": 9}, "7 of 9 tasks stand in no list"),
        ({"resolved": ["a", "b"], "no_logs": ["c"]}, "every rate would be 1"),
    ],
)  # fmt: skip
def test_counts_that_the_lists_do_not_bear_out(tmp_path: Path, report: dict, said: str) -> None:
    (tmp_path / "m.json").write_text(json.dumps(report))
    try:
        reasons = [refused.reason for refused in import_results(tmp_path / "m.json", None, Options()).refused]
    except UnreadableImportError as error:
        reasons = [str(error)]
    assert any(said in reason for reason in reasons), reasons


def test_an_older_report_that_lists_who_was_run_has_failures(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps({"generated": ["a", "b", "c"], "no_logs": ["c"], "resolved": ["a"]}))
    report = import_results(tmp_path / "m.json", None, Options())
    assert dict(report.statuses) == {"PASSED": 1, "FAILED": 1, "GRADER_ERROR": 1}


def test_promptfoo_repeats_are_trials_of_one_task(tmp_path: Path) -> None:
    """Each repeat has a testIdx of its own in the file; by its number, nothing would ever be repeated."""
    assert passhat("import", PROMPTFOO, "--results", tmp_path).exit_code == 0
    rows = imported(PROMPTFOO, tmp_path)
    per_task = Counter((row["agent"], row["task"]) for row in rows)
    assert sorted(per_task.values()) == [2] * 6
    assert {task.rpartition("-")[0] for _, task in per_task} == {"Translate-to-French", "dog"}
    table = {row.agent: row for row in quick_table(str(tmp_path))}
    mini, claude = table["openai:gpt-4.1-mini#0"], table["Claude#1"]
    assert (mini.tasks, mini.trials, mini.pass_at_1) == (3, 6, pytest.approx(0.5))
    assert (claude.trials, claude.without_verdict, claude.pass_at_1) == (5, 1, 1.0)
    (broken,) = [row for row in rows if row["status"] == "MODEL_ERROR"]
    assert "529" in broken["failure_message"]
    assert rows[0]["tokens_in"] == 18


def test_loops_are_trials_and_a_line_after_a_blank_one_is_read(tmp_path: Path) -> None:
    assert passhat("import", LOOP, "--results", tmp_path / "out").exit_code == 0
    (row,) = quick_table(str(tmp_path / "out"))
    assert (row.tasks, row.trials, row.pass_at_1, row.cost_usd) == (3, 9, pytest.approx(2 / 3), pytest.approx(1.17))
    assert Counter(row["status"] for row in imported(LOOP, tmp_path / "out"))["AGENT_TIMEOUT"] == 1
    gapped = tmp_path / "gapped.jsonl"
    gapped.write_text(LOOP.read_text().replace("\n", "\n\n", 2))
    assert import_results(gapped, None, Options()).rows == 9


def test_a_headless_result_has_no_verdict_but_costs(tmp_path: Path) -> None:
    rows = {row["imported_from"].rpartition(" ")[2]: row for row in imported(HEADLESS, tmp_path)}
    statuses = {name: row["status"] for name, row in rows.items()}
    assert statuses == {
        "fix-parser-1.json:1": "GRADER_ERROR",
        "fix-parser-2.json:1": "AGENT_ERROR",
        "fix-parser-3.json:1": "MODEL_ERROR",
    }
    first = rows["fix-parser-1.json:1"]
    assert (first["task"], first["passed"], first["cost_usd"], first["turns"]) == ("fix-parser", None, 0.1423, 9)
    assert (first["agent_s"], first["model_wait_s"]) == (41.235, 30.21)
    assert (first["tokens_cache_read"], first["tokens_cache_written"]) == (80211, 15211)
    assert first["model"] == "claude-sonnet-4-5"


def test_what_ended_badly_after_rows_were_written_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One name for two suites is noticed at the second, when rows of the first may be in Parquet already."""
    monkeypatch.setattr(run, "_ROWS_PER_FILE", 2)
    table = tmp_path / "t.csv"
    table.write_text("task,passed,suite\na,1,x\nb,1,x\nc,1,x\nd,1,y\n")
    with pytest.raises(UnreadableImportError, match="of the suites x and y"):
        import_results(table, str(tmp_path / "out"), Options(suite="mine"))
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_a_file_that_became_shorter_leaves_no_old_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_ROWS_PER_FILE", 2)
    table = tmp_path / "t.csv"
    for tasks in ("abcde", "ab"):
        table.write_text("task,passed\n" + "".join(f"{task},1\n" for task in tasks))
        import_results(table, str(tmp_path / "out"), Options())
    rows = ds.dataset(tmp_path / "out/trials", schema=trials_schema(), partitioning="hive").to_table().to_pylist()
    assert sorted(row["task"] for row in rows) == ["a", "b"]


def large(kind: str, path: Path) -> int:
    """A document of 300 trials with 100 kB of text each, in the form of a tool; how many trials it has."""
    text = "x" * 100_000
    first, each, last = {
        "inspect": (
            '{"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [',
            lambda n: {"id": n, "epoch": 1, "messages": [text], "scores": {"s": {"value": "C"}}},
            '], "reductions": []}',
        ),
        "tau-bench": ("[", lambda n: {"task_id": n, "trial": 0, "reward": 1.0, "info": {}, "traj": [text]}, "]"),
        "promptfoo": (
            '{"results": {"version": 3, "prompts": [], "results": [',
            lambda n: {"testIdx": n, "promptIdx": 0, "success": True, "score": 1, "response": {"output": text}},
            ']}, "config": {}}',
        ),
    }[kind]
    with path.open("w") as stream:
        stream.write(first)
        for number in range(300):
            stream.write(("," if number else "") + json.dumps(each(number)))
        stream.write(last)
    return 300


@pytest.mark.parametrize("kind", ["inspect", "tau-bench", "promptfoo"])
def test_a_large_document_is_imported_in_little_memory(kind: str, tmp_path: Path) -> None:
    count = large(kind, tmp_path / "large.json")
    size = (tmp_path / "large.json").stat().st_size
    import_results(LOOP, None, Options())
    tracemalloc.start()
    report = import_results(tmp_path / "large.json", None, Options())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (report.format, report.rows) == (kind, count)
    assert size > 30_000_000
    assert peak < 10_000_000
