"""The noise study's findings: rates of the reference solution, and one noise floor that comparisons share."""

from pathlib import Path

import pytest

from orchestrator.analysis.floors import oracle_floors
from orchestrator.analysis.noise import noise_findings
from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.analysis.summary import load_cells


def test_the_study_gives_the_floor_that_comparisons_use(tmp_path: Path) -> None:
    truth = Truth(
        agents=(AgentTruth("oracle", ability=30.0), AgentTruth("other")),
        settings=(SettingTruth("3x"), SettingTruth("1x", "1.0", oom=0.5)),
        tasks=20,
    )
    Simulation.of(truth).write(tmp_path)
    found = noise_findings(str(tmp_path), 0.02)
    assert [(one.name, one.tasks, one.trials) for one in found.settings] == [("1x", 20, 100), ("3x", 20, 100)]
    tight, wide = found.settings
    assert tight.oom > 10 > wide.oom == 0
    assert tight.failure_rate == pytest.approx((tight.oom + tight.other) / 100)
    floors = oracle_floors(load_cells([str(tmp_path)]).cells)
    assert found.floor_points == 100 * max(one.high for one in floors.values() if one.high is not None)
    assert "not shown to be neutral" in found.sentences[0]


def test_a_study_that_is_not_at_its_end_gives_no_floor(tmp_path: Path) -> None:
    Simulation.of(Truth(agents=(AgentTruth("other"),), tasks=4)).write(tmp_path)
    found = noise_findings(str(tmp_path), 0.02)
    assert (found.settings, found.floor_points) == ((), None)
