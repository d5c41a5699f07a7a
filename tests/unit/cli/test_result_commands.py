"""Commands that read a results folder: what they print for people and for programs, and what they say of trouble."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli.main import app
from orchestrator.core.columns import NAMES
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from orchestrator.storage.sweeps import sweep_lock, write_plan
from tests.unit.core.plans import make_plan
from tests.unit.storage.rows_made import make_row


def passhat(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Three trials of twelve: one passed after a lost attempt, one failed, one without a verdict."""
    root = Root(tmp_path)
    write_plan(root, make_plan())
    for writer, rows in (
        ("w1", [make_row(0, status="LOST", origin="infrastructure", final=False, failure_message="gone\nfor good")]),
        ("w2", [make_row(0, attempt=1, total_s=1.5), make_row(1, status="FAILED")]),
        ("w3", [make_row(2, status="GRADER_ERROR", origin="infrastructure", failure_message="there is no reward")]),
    ):
        with RowStore(root, "s-1", writer) as store:
            for row in rows:
                store.add(row)
            store.commit()
            store.seal()
    return tmp_path


def test_status_counts_what_is_settled(results: Path) -> None:
    (found,) = json.loads(passhat("status", results, "--json").stdout)
    assert {key: found[key] for key in ("planned", "settled", "passed", "without_verdict", "attempts", "running")} == {
        "planned": 12,
        "settled": 3,
        "passed": 1,
        "without_verdict": 1,
        "attempts": 4,
        "running": False,
    }


def test_status_is_a_table_within_80_columns_and_says_who_runs(results: Path) -> None:
    with sweep_lock(Root(results), "s-1"):
        shown = passhat("status", results)
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert shown.stdout.splitlines()[-1].split() == ["s-1", "12", "3", "1", "1", "4", "yes"]


def test_status_names_files_that_cannot_be_read(results: Path) -> None:
    (results / "trials" / "suite=suite" / "empty.parquet").touch()
    shown = passhat("status", results, "--json")
    said = shown.stdout + shown.stderr + str(shown.exception)
    assert "empty.parquet" in said


def test_status_of_a_folder_without_sweeps_says_what_makes_one(tmp_path: Path) -> None:
    shown = passhat("status", tmp_path)
    assert shown.exit_code == 1
    assert "holds no sweep" in shown.stderr
    assert json.loads(passhat("status", tmp_path, "--json").stdout) == []


def test_show_lists_the_attempts_of_a_trial_in_order(results: Path) -> None:
    shown = passhat("show", "k0000", "--results", results)
    assert max(map(len, shown.stdout.splitlines())) <= 80
    first, second = [line.split() for line in shown.stdout.splitlines()[1:]]
    assert first == ["k0000-0", "a/1x/live", "0", "LOST", "-", "gone"]
    assert second == ["k0000-1", "a/1x/live", "0", "PASSED", "1.50"]


def test_show_prints_every_known_column_of_one_attempt_by_group(results: Path) -> None:
    lines = passhat("show", "k0000-1", "--results", results).stdout.splitlines()
    assert lines[0] == "identity"
    assert [line.split() for line in lines if "total_s" in line] == [["total_s", "1.5"]]
    assert not [line for line in lines if "cost_usd" in line]


def test_show_gives_programs_all_columns(results: Path) -> None:
    (found,) = json.loads(passhat("show", "t1", "--results", results, "--json").stdout)
    assert set(found) == set(NAMES)
    assert (found["status"], found["cost_usd"]) == ("FAILED", None)


def test_show_of_what_is_not_there_says_how_to_find_it(results: Path) -> None:
    shown = passhat("show", "t9", "--results", results)
    assert shown.exit_code == 1
    assert f"has no attempt, trial or task 't9'; `passhat status {results}`" in shown.stderr


def test_compact_makes_one_file_of_each_partition_and_loses_no_row(results: Path) -> None:
    before = passhat("show", "k0000", "--results", results, "--json").stdout
    assert json.loads(passhat("compact", results, "--json").stdout) == {"files_before": 3, "files_after": 1}
    assert passhat("show", "k0000", "--results", results, "--json").stdout == before
    assert passhat("compact", results).stdout == "1 files became 1\n"
