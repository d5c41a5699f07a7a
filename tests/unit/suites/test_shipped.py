"""The suites that ship: complete, alike where they must be alike, and hidden where they must be hidden."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from suites.lint import lint_suite
from suites.loading import load_suite

SUITES = Path(__file__).parents[3] / "suites"
SHIPPED = {"pybugs": 33, "islands": 36, "desk": 24, "noise": 16, "desktop": 6}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_suite_loads_whole_and_says_what_it_is(name: str) -> None:
    suite = load_suite(SUITES / name)
    assert (suite.refused, suite.warnings) == ((), ())
    assert (suite.name, suite.licence, len(suite.tasks)) == (name, "Apache-2.0", SHIPPED[name])
    page = (SUITES / name / "README.md").read_text(encoding="utf-8")
    for part in ("What it measures", "How it is graded", "How it was checked", "cannot tell", "Licence"):
        assert part in page
    for task in suite.tasks:
        assert task.network.mode == "none"
        assert task.asked.cpus is not None
        assert task.asked.memory_mb is not None
        assert task.cluster
        assert task.difficulty
        assert task.steps[0].agent_timeout_s is not None
        assert (task.folder / "tests" / "test.sh").is_file()
        assert (task.folder / "solution" / "solve.sh").is_file()


@pytest.mark.parametrize("name", SHIPPED)
def test_lint_finds_nothing_in_a_suite_that_ships(name: str) -> None:
    found = lint_suite(load_suite(SUITES / name))
    assert list(found) == []


@pytest.mark.parametrize(
    ("suite", "file"),
    [
        ("pybugs", "tests/run_checks.py"),
        ("pybugs", "tests/test.sh"),
        ("pybugs", "environment/Dockerfile"),
        ("islands", "environment/Dockerfile"),
        ("islands", "environment/data/shipping.sql"),
        ("desk", "environment/desk.py"),
        ("desk", "environment/policy.md"),
        ("noise", "environment/work.py"),
    ],
)
def test_a_file_that_all_tasks_share_is_the_same_in_all(suite: str, file: str) -> None:
    assert len({(task.folder / file).read_bytes() for task in load_suite(SUITES / suite).tasks}) == 1


def test_the_copies_of_the_normalisation_are_copies() -> None:
    ours = (SUITES / "normalise.py").read_bytes()
    for copy in SUITES.glob("islands/*/tests/normalise.py"):
        assert copy.read_bytes() == ours


def test_bugs_are_separate_pinned_and_spread_over_libraries() -> None:
    tasks = load_suite(SUITES / "pybugs").tasks
    assert len({task.cluster for task in tasks}) == 25
    for task in tasks:
        grading = task.steps[0].grading
        assert (grading.mode, grading.graders[0].kind, task.image.wheels is not None) == ("separate", "tests", True)
        for line in (task.folder / "environment" / "requirements.txt").read_text().splitlines():
            assert "==" in line
            assert "--hash=sha256:" in line


def test_the_checks_that_a_bug_declares_are_those_of_its_files() -> None:
    for task in load_suite(SUITES / "pybugs").tasks:
        settings = task.steps[0].grading.graders[0].settings
        for kind in ("fail_to_pass", "pass_to_pass"):
            text = (task.folder / "tests" / f"{kind}.py").read_text(encoding="utf-8")
            names = [line[4:].split("(")[0] for line in text.splitlines() if line.startswith("def test_")]
            assert settings[kind] == tuple(f"{kind}::{name}" for name in names)


def test_every_wish_at_the_desk_has_a_fact_so_that_nothing_done_is_nothing_passed() -> None:
    for task in load_suite(SUITES / "desk").tasks:
        settings = task.steps[0].grading.graders[0].settings
        assert settings["facts"]
        assert settings["goal"] == "goal.json"
        assert task.simulated_user is not None


def test_nothing_changes_in_a_wish_that_is_refused() -> None:
    refused = [task for task in load_suite(SUITES / "desk").tasks if task.metadata["changes"] == "no change"]
    goals = {json.dumps(json.loads((task.folder / "tests" / "goal.json").read_text())) for task in refused}
    assert (len(refused), len(goals)) == (13, 1)


@pytest.mark.parametrize("name", ["islands", "desk", "desktop"])
def test_the_folders_are_what_their_generator_writes(name: str, tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, types; sys.path[:0] = [sys.argv[1], sys.argv[2]]; import generate;"
        "generate.main(target=pathlib.Path(sys.argv[3]))"
    )
    making = SUITES / name / "making"
    subprocess.run([sys.executable, "-c", script, str(making), str(SUITES.parent), str(tmp_path)], check=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(made) > 20
    for path in made:
        assert (tmp_path / path).read_bytes() == (SUITES / name / path).read_bytes(), path
