"""Where no engine answers, a test that needs one is skipped with the reason; where it must be there, it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
NEEDS_AN_ENGINE = "tests/end_to_end/test_suite_check.py"


def run_pytest(**env: str) -> str:
    words = [sys.executable, "-m", "pytest", NEEDS_AN_ENGINE, "-q", "-p", "no:cacheprovider"]
    env = {**os.environ, "DOCKER_HOST": "unix:///nowhere/docker.sock", "PASSHAT_REQUIRE_DOCKER": "", **env}
    return subprocess.run(words, cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_without_an_engine_tests_are_skipped_with_the_reason() -> None:
    said = run_pytest()
    assert "1 skipped" in said
    assert "/nowhere/docker.sock" in said


@pytest.mark.slow
def test_where_an_engine_must_be_there_they_fail() -> None:
    said = run_pytest(PASSHAT_REQUIRE_DOCKER="1")
    assert "failed" in said or "1 error" in said
    assert "PASSHAT_REQUIRE_DOCKER is set and this test cannot run" in said
    assert "passed" not in said
