"""Oracle and nop: what they cost and what they leave."""

from pathlib import Path

import pytest

from orchestrator.agents.reference import NopAgent, OracleAgent
from sandboxes.fake import answered


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    folder = tmp_path / "solution"
    (folder / "lib").mkdir(parents=True)
    (folder / "solve.sh").write_text("#!/bin/bash\n")
    (folder / "solve.sh").chmod(0o644)
    (folder / "lib/data.txt").write_text("x")
    (folder / "link").symlink_to("lib/data.txt")
    return folder


def test_the_oracle_costs_one_put_and_one_exec(place, context, events, solution: Path) -> None:
    sandbox = place(lambda s, c: answered(0, b"solved"))
    puts = []
    sandbox_put = sandbox.put
    sandbox.put = lambda entries: (puts.append(1), sandbox_put(entries))
    agent = OracleAgent()
    given = context(solution_dir=solution, solution_env={"K": "v"})
    agent.setup(sandbox, given)
    result = agent.run(sandbox, given)
    assert (len(puts), len(sandbox.commands)) == (1, 1)
    assert (result.ending, result.exit_code, result.message) == ("finished", 0, "")
    command = sandbox.commands[0]
    assert (command.user, command.workdir, command.timeout_s) == ("root", "/app", 60.0)
    assert dict(command.env) == {"TASK": "1", "K": "v", "DEBIAN_FRONTEND": "noninteractive"}
    assert command.argv[:2] == ("bash", "-c")
    assert "(/solution/solve.sh) > /logs/agent/oracle.txt 2>&1" in command.argv[2]
    assert sandbox.files["/solution/solve.sh"].mode & 0o111 == 0o111
    assert sandbox.files["/solution/lib/data.txt"].data == b"x"
    assert sandbox.files["/solution/link"].link == "lib/data.txt"
    assert events[0]["content"] == "solved"


def test_a_failing_solution_is_still_graded_and_a_slow_one_is_a_timeout(place, context, solution: Path) -> None:
    failed = OracleAgent().run(place(lambda s, c: answered(3)), context(solution_dir=solution))
    assert (failed.ending, failed.exit_code) == ("finished", 3)
    assert "exit code 3" in failed.message
    assert OracleAgent().run(place(lambda s, c: answered(None)), context(solution_dir=solution)).ending == "timeout"


def test_a_task_without_a_solution_is_an_error(place, context, tmp_path: Path) -> None:
    assert OracleAgent().run(place(), context()).ending == "error"
    assert OracleAgent().run(place(), context(solution_dir=tmp_path)).ending == "error"


def test_nop_touches_nothing(place, context, events) -> None:
    sandbox = place()
    NopAgent().setup(sandbox, context())
    assert NopAgent().run(sandbox, context()).ending == "finished"
    assert (sandbox.commands, sandbox.files, events) == ([], {}, [])
