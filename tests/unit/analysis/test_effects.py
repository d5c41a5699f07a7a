"""What is asked across arms comes out as the simulated truth has it, and stays silent where there is nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.comparing import compare
from orchestrator.analysis.context import Settings
from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.analysis.summary import aggregate
from orchestrator.analysis.tables import EffectRow, Summary

QUICK = Settings(replicates=500, flips=2_000)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A steady agent and one that slides, an oracle, three settings of which the first kills, and a kind judge."""
    folder = tmp_path_factory.mktemp("effects")
    truth = Truth(
        agents=(
            AgentTruth("steady", ability=1.2),
            AgentTruth("sliding", ability=0.8, drift_per_wave=-0.9, judge_leniency=0.5),
            AgentTruth("oracle", ability=12.0),
        ),
        settings=(
            SettingTruth("1x", "1.0", oom=0.6, infrastructure=0.0),
            SettingTruth("2x", "2.0", oom=0.05, infrastructure=0.0),
            SettingTruth("3x", "3.0", infrastructure=0.0),
        ),
        lanes=("live", "frozen"),
        tasks=28,
        repeats=5,
        days=3,
        hungry=0.6,
        judged=True,
    )
    Simulation.of(truth).write(folder)
    return folder


@pytest.fixture(scope="module")
def summary(root: Path) -> Summary:
    return aggregate([str(root)], QUICK)


def one(rows: tuple[EffectRow, ...], subject: str, quantity: str) -> EffectRow:
    (found,) = [row for row in rows if row.subject == subject and row.quantity == quantity]
    return found


def test_a_setting_that_kills_is_told_from_the_others(summary: Summary) -> None:
    rows = summary.resource_effects
    assert one(rows, "steady", "3x less 1x").verdict == "higher"
    assert one(rows, "steady", "trend over 1x, 2x, 3x").verdict == "rising"
    assert one(rows, "steady", "neutral from 1x to 3x").verdict == "outside the margin"
    gain, fewer, solved = (
        one(rows, "steady", f"{name}, from 1x to 3x").number.estimate
        for name in ("gain", "gain by fewer failures", "gain by more solved")
    )
    assert gain == pytest.approx(fewer + solved)
    assert fewer > 2 * abs(solved)
    changing = [row for row in rows if row.subject == "oracle" and row.quantity.startswith("task ")]
    assert changing
    assert all(row.number.estimate > 0 and row.p_adjusted <= 0.1 for row in changing)


def test_contrasts_are_with_the_baseline_that_is_named(root: Path) -> None:
    found = aggregate([str(root)], replace(QUICK, baseline="3x"))
    assert one(found.resource_effects, "steady", "1x less 3x").verdict == "lower"


def test_the_oracle_gives_a_noise_floor_and_marks_gaps_below_it(summary: Summary, root: Path) -> None:
    floors = {r.quantity: r.number for r in summary.resource_effects if r.subject == "oracle / 1x"}
    assert floors["noise floor, 1x"].estimate > 0.2
    assert {name for name in floors if "2026-01-0" in name} == {
        f"noise floor, 1x on 2026-01-0{day}" for day in (1, 2, 3)
    }
    nodes = {name: number for name, number in floors.items() if " on node-" in name}
    assert set(nodes) == {f"noise floor, 1x on node-{node}" for node in range(3)}
    assert min(number.estimate for number in nodes.values()) <= floors["noise floor, 1x"].estimate
    assert max(number.estimate for number in nodes.values()) >= floors["noise floor, 1x"].estimate
    low = [r for r in summary.comparisons if r.first == "steady / 1x" and r.second == "sliding / 1x"]
    assert all(("noise floor" in row.marks) == (abs(row.number.estimate) < floors["noise floor, 1x"].high)
               for row in low if row.statistic == "pass@1")  # fmt: skip
    row = compare([str(root)], "agent=steady resources=1x lane=live", "agent=steady resources=2x lane=live", QUICK)[0]
    assert abs(row.number.estimate) < floors["noise floor, 1x"].high
    assert "below the noise floor" in row.marks


def test_without_the_oracle_no_gap_is_called_noise(root: Path) -> None:
    found = aggregate([str(root)], QUICK, selection="agent=steady")
    assert not any("noise floor" in row.marks for row in found.comparisons)
    assert not any(row.quantity.startswith("noise floor") for row in found.resource_effects)


def test_only_the_agent_that_slides_raises_an_alarm(summary: Summary) -> None:
    alarms = {row.subject for row in summary.drift if row.verdict == "alarm: drift"}
    assert "sliding / 3x" in alarms
    assert not any(subject.startswith(("steady", "oracle")) for subject in alarms)
    apart = [row for row in summary.drift if row.verdict == "alarm: lanes part"]
    assert "sliding / 3x" in {row.subject for row in apart}
    assert not any(row.subject.startswith("steady") for row in apart)
    assert all("Refresh the suite" in row.sentence for row in apart)


def test_a_recorded_horizon_shares_the_error_evenly(root: Path) -> None:
    found = aggregate([str(root)], replace(QUICK, horizon=10), selection="agent=sliding lane=live")
    assert {round(row.number.level, 6) for row in found.drift} == {0.995}


def test_ranks_hold_the_order_and_groups_hold_what_cannot_be_told_apart(summary: Summary) -> None:
    ranks = {row.arm.label: row for row in summary.ranks}
    assert len(ranks) == 18
    assert ranks["oracle / 3x"].rank_best == 1
    assert ranks["sliding / 1x"].rank_best > ranks["oracle / 3x"].rank_worst
    assert set(ranks["oracle / 3x"].groups.split()) & set(ranks["oracle / 3x / frozen"].groups.split())
    assert not set(ranks["oracle / 3x"].groups.split()) & set(ranks["sliding / 1x"].groups.split())


def test_a_judge_that_is_kind_to_one_agent_is_found_out(summary: Summary) -> None:
    rows = summary.judge_effects
    judge = "simulated-judge-1"
    assert one(rows, "all arms", f"equal specificity, {judge}").verdict == "arms are judged differently"
    assert {"Cohen's kappa", "PABAK", "Gwet's AC1"} <= {row.quantity for row in summary.judges}
    kappa = {r.arm.label: r.number.estimate for r in summary.judges if r.quantity == "Cohen's kappa"}
    assert kappa["steady / 3x"] > kappa["sliding / 3x"] + 0.2
    told = one(rows, "steady / 3x", f"judged score set right, {judge}")
    assert told.number.method == "Rogan-Gladen, delta method"


def test_equivalence_is_by_the_test_against_the_margin(root: Path) -> None:
    sides = ("agent=oracle resources=2x", "agent=oracle resources=3x")
    wide = compare([str(root)], *sides, replace(QUICK, margin=0.2))[0]
    narrow = compare([str(root)], *sides, replace(QUICK, margin=0.001))[0]
    assert wide.p_equivalent < 0.05 < narrow.p_equivalent
    assert wide.p_not_inferior <= wide.p_equivalent
    assert narrow.equivalence != "equivalent within 0.1 points"


def test_few_tasks_get_a_second_opinion_that_owns_up_to_extrapolating(summary: Summary) -> None:
    methods = {row.number.method for row in summary.arms if not row.quoted}
    assert {
        "hierarchical beta-binomial",
        "hierarchical beta-binomial, extrapolated beyond the trials there are",
    } <= methods


def test_a_comparison_says_how_many_signs_were_flipped(summary: Summary) -> None:
    row = next(r for r in summary.comparisons if r.flips == 2_000)
    assert "2,000 flips" in row.sentence
