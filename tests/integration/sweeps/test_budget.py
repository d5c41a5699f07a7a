"""A budget holds for the sweep, not for each call of it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, run_due
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import find_sweep, used_up
from tests.integration.sweeps.conftest import Silent

SWEEP = """name = "bounded"
suite = "suite"
repeats = 4
agents = [{ name = "nop", kind = "nop" }]
retry = { max = 0 }
budget = { trials = TRIALS }
"""


def call(sweep: Path, trials: int) -> int:
    sweep.write_text(SWEEP.replace("TRIALS", str(trials)))
    request = Request(sweep=sweep, place=PlaceOptions(provider="fake", inline=True))
    return run_due(request, Silent, quiet=True, now=lambda: datetime(2026, 5, 1, tzinfo=UTC))


def attempts(sweep: Path) -> int:
    root = Root(sweep.parent / "results")
    plan = find_sweep(root, "bounded")
    assert plan is not None
    return used_up(root, plan.sweep_id)[0]


def test_calling_again_does_not_spend_the_budget_again_and_a_larger_one_goes_on(tmp_path: Path, task_folder) -> None:
    task_folder(tmp_path / "suite" / "one")
    sweep = tmp_path / "sweep.toml"
    assert call(sweep, 3) == 1
    assert attempts(sweep) == 3
    assert call(sweep, 3) == 1
    assert attempts(sweep) == 3
    call(sweep, 10)
    assert attempts(sweep) == 4


def test_a_stopped_sweep_says_what_each_arm_lacks(
    tmp_path: Path, task_folder, capsys: pytest.CaptureFixture[str]
) -> None:
    task_folder(tmp_path / "suite" / "one")
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP.replace("TRIALS", "1"))
    run_due(Request(sweep=sweep, place=PlaceOptions(provider="fake", inline=True)), Silent)
    assert "missing: nop/1x/live lacks 3 of 4 trials" in capsys.readouterr().out
