"""Lint finds what makes graders wrong; a new task has nothing to find; rows of others become tasks."""

import json
from pathlib import Path

import pytest

from suites.errors import TaskError
from suites.importing import answer_form, import_questions, import_repo_rows, read_jsonl
from suites.lint import lint_suite
from suites.loading import load_suite
from suites.new import new_task


def test_a_new_task_loads_and_lint_finds_nothing(tmp_path: Path) -> None:
    new_task(tmp_path / "fresh")
    suite = load_suite(tmp_path)
    assert [task.name for task in suite.tasks] == ["fresh"]
    assert lint_suite(suite) == []
    with pytest.raises(TaskError, match="something is there"):
        new_task(tmp_path / "fresh")


REPO = {
    "instance_id": "org__repo-1",
    "repo": "org/repo",
    "problem_statement": "It breaks.",
    "test_patch": "--- a\n",
    "patch": "--- b\n",
    "FAIL_TO_PASS": json.dumps(["t.py::a"]),
    "PASS_TO_PASS": ["t.py::b"],
    "image": "img:1",
}


def test_repository_rows_become_tasks_and_bad_rows_are_refused_with_a_reason(tmp_path: Path) -> None:
    rows = [
        REPO,
        {**REPO, "instance_id": "two", "FAIL_TO_PASS": []},
        {**REPO, "instance_id": "three", "image": None},
        {**REPO, "instance_id": "four", "problem_statement": None},
        REPO,
    ]
    report = import_repo_rows(rows, tmp_path)
    assert [path.name for path in report.written] == ["org__repo-1"]
    assert [name for name, _ in report.refused] == ["two", "three", "four", "org__repo-1"]
    (task,) = load_suite(tmp_path).tasks
    grader = task.steps[0].grading.graders[0]
    assert (task.cluster, task.image.reference, task.steps[0].grading.mode) == ("org/repo", "img:1", "separate")
    assert (grader.settings["fail_to_pass"], grader.settings["pass_to_pass"]) == (("t.py::a",), ("t.py::b",))


def test_a_repository_can_be_built_from_its_archive(tmp_path: Path) -> None:
    (tmp_path / "org__repo-1.tar.gz").write_bytes(b"archive")
    report = import_repo_rows([{**REPO, "image": None}], tmp_path / "out", archives=tmp_path)
    assert (report.written[0] / "environment" / "repo.tar.gz").read_bytes() == b"archive"
    assert load_suite(tmp_path / "out").refused == ()


def test_questions_become_tasks_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n")
    row = {"task_id": "q1", "Question": "How many?", "Level": 2, "Final answer": "1,234", "file_name": "data.csv"}
    withheld = {**row, "task_id": "q2", "Final answer": "?"}
    lost = {**row, "task_id": "q3", "file_name": "../etc/passwd"}
    report = import_questions([row, withheld, lost], tmp_path / "out", attachments=tmp_path)
    assert [name for name, _ in report.refused] == ["q2", "q3"]
    (task,) = load_suite(tmp_path / "out").tasks
    assert (task.difficulty, task.steps[0].grading.graders[0].settings["form"]) == ("level2", "number")


@pytest.mark.parametrize(("answer", "form"), [("17", "number"), ("a, b", "list"), ("1; 2", "list"), ("Paris", "text")])
def test_the_form_of_an_answer(answer: str, form: str) -> None:
    assert answer_form(answer)[0] == form


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{broken\n')
    with pytest.raises(TaskError, match="line 2"):
        read_jsonl(tmp_path / "rows.jsonl")
