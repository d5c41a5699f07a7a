"""The program as a whole: quick to start, every command explains itself, errors are sentences."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from orchestrator.cli.main import app

DESK = Path(__file__).parents[3] / "suites" / "desk"


def commands() -> list[tuple[str, ...]]:
    """Every command and subcommand as words."""
    found: list[tuple[str, ...]] = []
    for name, command in get_command(app).commands.items():
        inner = getattr(command, "commands", None)
        found += [(name, sub) for sub in inner] if inner else [(name,)]
    return found


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, orchestrator.cli.main; print([m for m in ('ray', 'pyarrow', 'scipy', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_help_with_an_example(words: tuple[str, ...]) -> None:
    command = get_command(app)
    for word in words:
        command = command.commands[word]
    assert command.help
    assert f"passhat {' '.join(words)}" in command.help.replace("\n", " ")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("run", "/nowhere/sweep.toml"), "cannot be read"),
        (("summary", "/nowhere"), "/nowhere"),
        (("status", "/nowhere"), "holds no sweep"),
        (("suite", "lint", "/nowhere"), "/nowhere"),
        (("suite", "check", str(DESK), "--headroom", "abc"), "--headroom 'abc' is no headroom"),
        (("suite", "check", str(DESK), "--headroom", "0.5"), "--headroom '0.5' is no headroom"),
        (("noise", str(DESK), "--headroom", "1,half"), "--headroom 'half' is no headroom"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(argv: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", *argv], capture_output=True, text=True, check=False
    )
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
