"""Scripts: which case, which branch, and luck that follows from a seed."""

from pathlib import Path

import pytest

from orchestrator.models.script import (
    Behaviour,
    Case,
    Script,
    ToolUse,
    Turn,
    blocks_of,
    branch_of,
    find_case,
    succeeds,
    turn_number,
    usage_of,
)
from orchestrator.models.suite_script import solution_command

CASES = tuple(Case(match=f"task {n}.", solve=(Turn(text="yes"),), fail=(Turn(text="no"),)) for n in range(200))
SCRIPT = Script(
    seed=5,
    models={"erratic": Behaviour(success=0.6), "steady": Behaviour(success=0.6, steady=True)},
    cases=CASES,
)


def test_the_case_is_found_in_the_first_message_or_the_system_prompt() -> None:
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": "do task 7."}]}]}
    assert find_case(SCRIPT, asked) is CASES[7]
    assert find_case(SCRIPT, {"system": "do task 9.", "messages": [{"role": "user", "content": "hi"}]}) is CASES[9]
    assert find_case(SCRIPT, {"messages": [{"role": "user", "content": "hi"}]}) is None


@pytest.mark.parametrize("model", ["erratic", "steady"])
def test_both_models_have_the_same_mean(model: str) -> None:
    wins = [succeeds(SCRIPT, model, case, f"a{n}") for case in CASES for n in range(5)]
    assert 0.52 < sum(wins) / len(wins) < 0.68


def test_the_steady_one_does_the_same_every_time_and_the_erratic_one_does_not() -> None:
    def outcomes(model: str) -> list[set[bool]]:
        return [{succeeds(SCRIPT, model, case, f"a{n}") for n in range(12)} for case in CASES]

    assert all(len(seen) == 1 for seen in outcomes("steady"))
    assert sum(len(seen) == 2 for seen in outcomes("erratic")) > 190


def test_a_case_may_have_a_rate_of_its_own() -> None:
    never = Case(match="x", success=0.0, solve=(Turn(),))
    assert not any(succeeds(SCRIPT, "steady", never, str(n)) for n in range(50))


def test_the_conversation_itself_says_where_it_is() -> None:
    blocks = blocks_of(Turn(text="a", tools=(ToolUse(),)), "fail", 0)
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": blocks}]
    assert (turn_number(messages), branch_of(messages)) == (1, "fail")
    assert branch_of(messages[:1]) is None


def test_tokens_are_counted_from_lengths_and_grow() -> None:
    first = {"messages": [{"role": "user", "content": "x" * 400}]}
    longer = {"messages": [{"role": "user", "content": "x" * 800}]}
    blocks = [{"type": "text", "text": "y" * 400}]
    assert usage_of(Turn(), first, blocks)["output_tokens"] == 100
    assert usage_of(Turn(), longer, blocks)["input_tokens"] > usage_of(Turn(), first, blocks)["input_tokens"]


def test_a_solution_is_carried_and_run_where_it_may_be_written(tmp_path: Path) -> None:
    import subprocess

    folder = tmp_path / "solution"
    folder.mkdir()
    (folder / "solve.sh").write_text("cat '/solution/solution.txt' > answer.txt\n")
    (folder / "solution.txt").write_text("42\n")
    command = solution_command(folder)
    assert command == solution_command(folder)
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert (tmp_path / "answer.txt").read_text() == "42\n"
    (folder / "solve.sh").write_text("exit 7\n")
    assert subprocess.run(["bash", "-c", solution_command(folder)], cwd=tmp_path, check=False).returncode == 7
    assert not Path("/tmp/.scripted").exists()
