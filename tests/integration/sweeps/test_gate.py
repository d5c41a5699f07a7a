"""The sweep's gate: refused where it could never be judged, held after each wave, told to the hooks."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.config import ConfigError
from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, load, run_due
from tests.integration.sweeps.conftest import Silent

SWEEP = """name = "gated"
suite = "suite"
repeats = 2
gate = "gate.toml"
agents = [{{ name = "nop", kind = "nop" }}]
retry = {{ max = 0 }}
[hooks]
command = ["{python}", "-c", "import sys; open('{told}', 'a').write(sys.stdin.read() + chr(10))"]
"""


@pytest.fixture
def sweep(tmp_path: Path, task_folder) -> Path:
    task_folder(tmp_path / "suite" / "one")
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.format(python=sys.executable, told=tmp_path / "told.jsonl"))
    return path


def test_a_gate_that_needs_more_trials_than_the_sweep_makes_is_refused(sweep: Path) -> None:
    (sweep.parent / "gate.toml").write_text('[[minimum]]\nstatistic = "pass^3"\nat_least = 0.5\n')
    with pytest.raises(ConfigError, match=r"pass\^3 needs 3 trials of each task, and 2 repeats in 1 waves make 2"):
        load(Request(sweep=sweep), datetime.now(UTC))


def test_a_gate_without_a_verdict_to_judge_fails_and_is_told(sweep: Path) -> None:
    (sweep.parent / "gate.toml").write_text("max_infrastructure_failure_rate = 0.5\n")
    code = run_due(Request(sweep=sweep, place=PlaceOptions(provider="fake", inline=True)), Silent, quiet=True)
    assert code == 1
    told = [json.loads(line) for line in (sweep.parent / "told.jsonl").read_text().splitlines()]
    assert [event["event"] for event in told] == ["wave_ended", "gate_failed"]
    assert "cannot be judged" in told[1]["verdict"]
