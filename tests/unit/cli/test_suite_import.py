"""`passhat suite import`: rows of SWE-bench's and GAIA's kind, from Parquet as from JSON lines, become tasks."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.cli.main import main
from suites.lint import lint_suite
from suites.loading import load_suite

# The columns of SWE-bench's own table, in which the lists of tests are JSON in strings, and an image beside them.
REPOS = [
    {
        "repo": "astropy/astropy",
        "instance_id": "astropy__astropy-12907",
        "base_commit": "d16bfe05a744909de4b27f5875fe0d4ed41ce607",
        "patch": "--- a/x.py\n+++ b/x.py\n",
        "test_patch": "--- a/test_x.py\n+++ b/test_x.py\n",
        "problem_statement": 'Nested models give a wrong matrix: "é".\n',
        "hints_text": "",
        "created_at": "2022-03-03T15:14:54Z",
        "version": "4.3",
        "FAIL_TO_PASS": json.dumps(["test_x.py::test_a", "test_x.py::test_b[1-2]"]),
        "PASS_TO_PASS": json.dumps(["test_x.py::test_c"]),
        "difficulty": "15 min - 1 hour",
        "image": "registry.example/sweb.eval.astropy-12907@sha256:" + "a" * 64,
    },
    {
        "repo": "django/django",
        "instance_id": "django__django-10914",
        "base_commit": "e7fd69d051eaa67cb17f172a39b57253e9cb831a",
        "patch": "--- a/y.py\n+++ b/y.py\n",
        "test_patch": "--- a/test_y.py\n+++ b/test_y.py\n",
        "problem_statement": "Set the default permission.\n",
        "hints_text": "",
        "created_at": "2019-01-30T13:13:20Z",
        "version": "3.0",
        "FAIL_TO_PASS": json.dumps(["test_y.py::test_default"]),
        "PASS_TO_PASS": "[]",
        "difficulty": None,
        "image": None,
    },
]
QUESTIONS = [
    {
        "task_id": "c61d22de",
        "Question": "How many rows has the table?",
        "Level": "1",
        "Final answer": "1,234",
        "file_name": "table.csv",
        "file_path": "2023/validation/table.csv",
        "Annotator Metadata": {"Steps": "1. Count.", "Number of steps": "1"},
    },
    {
        "task_id": "17b5a6a3",
        "Question": "Which zip codes?",
        "Level": "2",
        "Final answer": "34689, 12345",
        "file_name": "",
        "file_path": "",
        "Annotator Metadata": {"Steps": "1. Look.", "Number of steps": "1"},
    },
    {
        "task_id": "04a04a9b",
        "Question": "What is withheld?",
        "Level": "3",
        "Final answer": "?",
        "file_name": "",
        "file_path": "",
        "Annotator Metadata": None,
    },
]


def written(rows: list[dict], folder: Path, kind: str) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    return path


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["passhat", "suite", "import", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    return int(ended.value.code or 0), " ".join((told.out + told.err).split())


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json"])
def test_rows_of_repositories_become_tasks(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archives = tmp_path / "archives"
    archives.mkdir()
    (archives / "django__django-10914.tar.gz").write_bytes(b"archive")
    code, told = run(capsys, monkeypatch, written(REPOS, tmp_path, kind), tmp_path / "suite", "--files", archives)
    assert (code, told) == (0, f"2 task folders in {tmp_path / 'suite'}, 0 rows refused")
    suite = load_suite(tmp_path / "suite")
    assert suite.refused == ()
    astropy, django = suite.tasks
    assert (astropy.name, astropy.cluster, astropy.image.reference) == (
        "astropy__astropy-12907",
        "astropy/astropy",
        REPOS[0]["image"],
    )
    grader = astropy.steps[0].grading.graders[0]
    assert grader.settings["fail_to_pass"] == ("test_x.py::test_a", "test_x.py::test_b[1-2]")
    assert grader.settings["pass_to_pass"] == ("test_x.py::test_c",)
    assert 'a wrong matrix: "é".' in astropy.steps[0].instruction
    assert (astropy.folder / "tests/test.patch").read_text() == REPOS[0]["test_patch"]
    assert (django.folder / "environment/repo.tar.gz").read_bytes() == b"archive"
    assert [finding for finding in lint_suite(suite) if finding.rule == "missing-solution"] == []


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json"])
def test_questions_become_tasks_and_a_withheld_answer_is_refused(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    attachments = tmp_path / "files"
    attachments.mkdir()
    (attachments / "table.csv").write_text("a\n1\n")
    code, told = run(
        capsys, monkeypatch, written(QUESTIONS, tmp_path, kind), tmp_path / "suite", "--files", attachments
    )
    assert code == 1
    assert "refused 04a04a9b: row 04a04a9b: its answer is withheld" in told
    assert "2 task folders" in told
    tasks = {task.name: task for task in load_suite(tmp_path / "suite").tasks}
    table, codes = tasks["c61d22de"], tasks["17b5a6a3"]
    assert (table.difficulty, table.steps[0].grading.graders[0].settings["form"]) == ("level1", "number")
    assert (table.folder / "environment/table.csv").read_text() == "a\n1\n"
    assert "The file is `/app/table.csv`." in table.steps[0].instruction
    assert codes.steps[0].grading.graders[0].settings["form"] == "list"


def test_lists_of_tests_may_be_lists_in_parquet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {**REPOS[0], "FAIL_TO_PASS": ["test_x.py::test_a"], "PASS_TO_PASS": []}
    code, _ = run(capsys, monkeypatch, written([row], tmp_path, "parquet"), tmp_path / "suite")
    (task,) = load_suite(tmp_path / "suite").tasks
    assert (code, task.steps[0].grading.graders[0].settings["fail_to_pass"]) == (0, ("test_x.py::test_a",))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.parquet", b"PAR1 but no more", "cannot be read"),
        ("rows.jsonl", b'{"instance_id": "a"}\n{"instance_id": ', "line 2 is not JSON"),
        ("rows.jsonl", b'["a"]\n["b"]\n', "is not JSON"),
        ("rows.jsonl", b'"a"\n', "line 1 is no object"),
        ("rows.json", b'[{"task_id": "a"}, 3]', "entry 2 is no object"),
        ("rows.jsonl", b"\xff\xfe", "is not JSON"),
        ("rows.jsonl", b"\n", "holds no rows"),
    ],
)
def test_a_file_without_usable_rows_gets_a_sentence(
    name: str,
    content: bytes,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / name).write_bytes(content)
    code, told = run(capsys, monkeypatch, tmp_path / name, tmp_path / "suite")
    assert code == 2
    assert said in told
    assert not (tmp_path / "suite").exists()
