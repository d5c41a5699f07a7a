"""Commands that write or explain files: a first sweep file, its schema, the units of a timer, and a suite's check."""

import json
import tomllib
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli.init import TEMPLATE
from orchestrator.cli.main import app
from orchestrator.config import ConfigError, parse_sweep
from orchestrator.execution.checking import TaskCheck, judge


def passhat(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})


def test_init_writes_a_sweep_file_that_is_accepted_and_never_replaces_one(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    assert passhat("init", path).exit_code == 0
    config = parse_sweep(path.read_text(), "sweep.toml")
    assert [setting.name for setting in config.resources] == ["1x", "3x"]
    path.write_text("mine")
    refused = passhat("init", path)
    assert (refused.exit_code, path.read_text()) == (2, "mine")
    assert "--force" in refused.stderr
    passhat("init", path, "--force")
    assert path.read_text() == TEMPLATE


def uncommented() -> str:
    """The template with every setting it shows in a comment."""
    lines = []
    for line in TEMPLATE.splitlines():
        bare = line.removeprefix("# ")
        looks = bare.startswith("[") or (" = " in bare and bare.split(" = ")[0].isidentifier())
        lines.append(bare if line.startswith("# ") and looks else line)
    return "\n".join(lines)


def test_every_setting_that_the_template_shows_in_a_comment_is_accepted_too() -> None:
    config = parse_sweep(uncommented(), "sweep.toml")
    assert [agent.kind for agent in config.agents] == ["oracle", "claude", "command"]
    assert (config.schedule.waves, config.budget.usd, config.gate) == (5, 50.0, "gate.toml")


HEAD = 'name = "s"\nsuite = "x"\n'
NOP = 'agents = [{ name = "a", kind = "nop" }]\n'


@pytest.mark.parametrize(
    "text",
    [
        TEMPLATE,
        uncommented(),
        HEAD.replace('"x"', '{ path = "x", tags = ["quick"] }') + NOP,
        HEAD + NOP + '[[resources]]\nmatrix = { headroom = [1.0, "uncapped"] }\n',
        HEAD + '[[agents]]\nname = "c"\nkind = "claude"\nmatrix = { model = ["m-1", "m-2"] }\n',
    ],
)
def test_what_the_program_accepts_the_schema_accepts(text: str) -> None:
    parse_sweep(text, "sweep.toml")
    jsonschema.validate(tomllib.loads(text), json.loads(passhat("schema").stdout))


@pytest.mark.parametrize(
    "text",
    [
        HEAD + NOP + "colour = 1\n",
        HEAD + NOP + "repeats = 0\n",
        HEAD + NOP + "order = 3\n",
        HEAD,
        HEAD + 'agents = [{ name = "a", kind = "wizard" }]\n',
        HEAD + NOP + "[[resources]]\nmatrix = { headroom = [] }\n",
        HEAD + NOP + '[[resources]]\nname = "r"\nspeed = 1\n',
    ],
)
def test_what_the_program_refuses_the_schema_refuses(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_sweep(text, "sweep.toml")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), json.loads(passhat("schema").stdout))


SWEEP = """name = "days"
suite = "suite"
agents = [{ name = "nop", kind = "nop" }]
[schedule]
waves = 2
every = "1d"
at = ["03:00"]
"""


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ((), ["wave 0: ", "wave 1: ", "03:00 UTC"]),
        (("--cron",), ["*/5 * * * * cd ", "run"]),
        (("--systemd",), ["passhat-days.timer", "OnCalendar=*:0/5"]),
        (("--kubernetes",), ["kind: CronJob", "name: passhat-days"]),
    ],
)
def test_schedule_prints_due_times_or_a_unit(tmp_path: Path, option: tuple[str, ...], words: list[str]) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    shown = passhat("schedule", path, *option)
    assert shown.exit_code == 0
    for word in words:
        assert word in shown.stdout


def check(oracle: dict[str, int], nop: dict[str, int], repeats: int = 2) -> list[str]:
    return judge(TaskCheck("t", Counter(oracle), Counter(nop)), repeats)


def test_a_task_holds_when_its_solution_always_passes_and_nothing_never_does() -> None:
    assert check({"PASSED": 2}, {"FAILED": 2}) == []
    assert check({"PASSED": 2}, {"OUT_OF_MEMORY": 1, "FAILED": 1}) == []


@pytest.mark.parametrize(
    ("oracle", "nop", "sentence"),
    [
        ({"PASSED": 1, "FAILED": 1}, {"FAILED": 2}, "the oracle passed 1 of 2 (1 FAILED); mend"),
        ({}, {"FAILED": 2}, "the oracle passed 0 of 2 (no row)"),
        ({"PASSED": 2}, {"PASSED": 1, "FAILED": 1}, "doing nothing passed 1 of 2; the grader accepts"),
        ({"PASSED": 2}, {"GRADER_ERROR": 2}, "doing nothing did not get a verdict every time (2 GRADER_ERROR)"),
        ({"PASSED": 2}, {"FAILED": 1}, "doing nothing did not get a verdict every time (1 FAILED)"),
    ],
)
def test_what_breaks_the_rule_is_named(oracle: dict[str, int], nop: dict[str, int], sentence: str) -> None:
    (broken,) = check(oracle, nop)
    assert broken.startswith(sentence)


def test_new_makes_a_folder_that_loads_and_lints(tmp_path: Path) -> None:
    folder = tmp_path / "suite" / "first-task"
    made = passhat("suite", "new", folder)
    assert made.exit_code == 0
    assert (folder / "task.toml").is_file()
    found = json.loads(passhat("suite", "lint", folder, "--json").stdout)
    assert all(finding["task"] == "first-task" for finding in found)
