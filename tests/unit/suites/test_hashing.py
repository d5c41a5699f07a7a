"""A digest changes with what can change a result, and with nothing else."""

import hashlib
from pathlib import Path

from suites.files import entries_below
from suites.hashing import suite_digest, task_digest
from tests.builders import make_task


def test_the_digest_is_the_one_of_the_format(tmp_path: Path) -> None:
    folder = make_task(tmp_path, files={"notes.txt": "not counted", "environment/Dockerfile": "FROM x\n"})
    names = ["environment/Dockerfile", "instruction.md", "solution/solve.sh", "task.toml", "tests/test.sh"]
    lines = "".join(f"{n}\0{hashlib.sha256((folder / n).read_bytes()).hexdigest()}\n" for n in names)
    assert task_digest(folder) == hashlib.sha256(lines.encode()).hexdigest()


def test_ignored_files_are_neither_counted_nor_copied(tmp_path: Path) -> None:
    folder = make_task(tmp_path)
    before = task_digest(folder)
    (folder / ".harborignore").write_text("*.log\ncache/\n")
    (folder / "tests" / "a.log").write_text("x")
    (folder / "tests" / "cache").mkdir()
    (folder / "tests" / "cache" / "b").write_text("x")
    assert task_digest(folder) == before
    assert {e.path for e in entries_below(folder / "tests", "/tests", folder)} == {"/tests", "/tests/test.sh"}
    (folder / "environment").mkdir()
    (folder / "environment" / "a.log").write_text("x")
    assert task_digest(folder) != before


def test_a_link_is_not_its_target(tmp_path: Path) -> None:
    one = make_task(tmp_path / "one", files={"tests/a": "x", "tests/b": "x"})
    two = make_task(tmp_path / "two", files={"tests/a": "x"})
    (two / "tests" / "b").symlink_to("a")
    assert task_digest(one) != task_digest(two)


def test_the_suite_digest_does_not_depend_on_order() -> None:
    assert suite_digest([("a", "1"), ("b", "2")]) == suite_digest([("b", "2"), ("a", "1")])
    assert suite_digest([("a", "1")]) != suite_digest([("a", "2")])
