"""Selections choose cells, and comparisons refuse what does not match."""

from pathlib import Path

import pytest

from orchestrator.analysis.comparing import compare
from orchestrator.analysis.context import Settings
from orchestrator.analysis.rows import RowsError
from orchestrator.analysis.select import parse_selection
from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.analysis.summary import load_cells


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        ("good", "agent", {"good"}),
        ("agent=good,poor resources=1x", "resources", {"1x"}),
        ("day=2026-01-02", "day", {"2026-01-02"}),
        ("wave=1..", "wave", {"1"}),
        ("wave=0..0", "wave", {"0"}),
        ("day=..2026-01-01", "day", {"2026-01-01"}),
    ],
)
def test_selections_choose_cells(simulated: Path, text: str, field: str, values: set[str]) -> None:
    chosen = parse_selection(text).apply(load_cells([str(simulated)]).cells)
    assert {str(value) for value in chosen.keys[field].present()} == values


@pytest.mark.parametrize("text", ["colour=red", "agent=", "wave=a..b"])
def test_a_selection_that_means_nothing_is_a_sentence(simulated: Path, text: str) -> None:
    with pytest.raises(RowsError):
        parse_selection(text).apply(load_cells([str(simulated)]).cells)


def test_an_empty_selection_names_what_there_is(simulated: Path) -> None:
    with pytest.raises(RowsError, match=r"agent=best was asked for.*good, poor"):
        compare([str(simulated)], "agent=best", "agent=poor")


def test_overlapping_sides_are_refused(simulated: Path) -> None:
    with pytest.raises(RowsError, match="exclude each other"):
        compare([str(simulated)], "agent=good", "resources=1x")


def test_day_against_day_is_paired(simulated: Path) -> None:
    rows = compare([str(simulated)], "agent=good resources=3x day=2026-01-01", "agent=good resources=3x day=2026-01-02")
    assert rows[0].statistic == "pass@1"
    assert rows[0].estimand.tasks == 24
    assert rows[0].number.low <= rows[0].number.estimate <= rows[0].number.high


def test_asking_for_k_beyond_n_is_refused(simulated: Path) -> None:
    with pytest.raises(RowsError, match="pass@50 was asked for"):
        compare([str(simulated)], "agent=good resources=3x", "agent=poor resources=3x", ks=(50,))


def test_sides_that_do_not_match_are_refused_or_marked(tmp_path: Path) -> None:
    base = {"settings": (SettingTruth(infrastructure=0.0),), "repeats": 3}
    Simulation.of(Truth(agents=(AgentTruth("a"),), tasks=12, retry_max=1, **base)).write(tmp_path)
    Simulation.of(Truth(agents=(AgentTruth("b"),), tasks=10, retry_max=2, **base)).write(tmp_path)
    with pytest.raises(RowsError, match=r"2 tasks have verdicts on one side only.*retry_max.*--anyway"):
        compare([str(tmp_path)], "agent=a", "agent=b")
    rows = compare([str(tmp_path)], "agent=a", "agent=b", anyway=True)
    assert all("2 tasks have verdicts on one side only" in row.marks and "retry_max" in row.marks for row in rows)
    assert rows[0].estimand.tasks == 10


def test_no_proof_of_a_difference_is_not_called_none(simulated: Path) -> None:
    rows = compare([str(simulated)], "agent=good day=2026-01-01", "agent=good day=2026-01-02", Settings(margin=0.001))
    assert rows[0].equivalence in ("undecided", "higher", "lower")
    wide = compare([str(simulated)], "agent=good day=2026-01-01", "agent=good day=2026-01-02", Settings(margin=0.5))
    assert wide[0].equivalence in ("equivalent within 50 points", "higher", "lower")
