"""`passhat suite check` names a task whose grader passes an untouched environment."""

from pathlib import Path

import pytest

from tests.builders import make_task
from tests.end_to_end.command_line import passhat
from tests.end_to_end.conftest import copy_probes

pytestmark = [pytest.mark.docker, pytest.mark.ray]


def test_a_grader_that_passes_an_empty_answer_is_named(tmp_path: Path, conformance_image: str) -> None:
    suite = copy_probes(tmp_path / "suite", "noop")
    make_task(suite / "generous")
    wrong = {"tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n"}
    make_task(suite / "unsolved", files=wrong)
    completed = passhat("suite", "check", suite)
    assert completed.returncode == 1, completed.stderr
    broken = [line for line in completed.stdout.splitlines() if line.startswith("BROKEN")]
    assert [line.split(":")[0] for line in broken] == ["BROKEN generous", "BROKEN unsolved"]
    assert "doing nothing passed 1 of 1" in broken[0]
    assert "the oracle passed 0 of 1" in broken[1]
    assert "1 of 3 tasks hold" in completed.stdout
