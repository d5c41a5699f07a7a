"""A summary gives the published figures, says what each number is, and is the same for the same rows and seed."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from orchestrator.analysis.arms import Resampled, resample
from orchestrator.analysis.context import Settings, SuiteCells
from orchestrator.analysis.plain import table
from orchestrator.analysis.quick import quick_table
from orchestrator.analysis.saving import save
from orchestrator.analysis.summary import aggregate
from orchestrator.analysis.tables import TABLES, Summary
from orchestrator.core.status import ScoringRule, Status
from orchestrator.stats.days import two_way_clustered
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root

QUICK = Settings(replicates=2000)


@pytest.fixture(scope="module")
def summary(simulated: Path) -> Summary:
    return aggregate([str(simulated)], QUICK)


def test_the_figures_of_the_article_come_out(article: Path) -> None:
    found = aggregate([str(article)], Settings(replicates=10_000))
    curve = {row.estimand.statistic: row.number.estimate for row in found.curves}
    assert [round(100 * curve[name], 1) for name in ("pass@1", "pass@3", "pass@10", "pass^10")] == [
        85.0,
        92.3,
        96.4,
        71.4,
    ]
    numbers = {row.number.method: row.number for row in found.arms if row.number.estimate == pytest.approx(0.85)}
    pooled = numbers["Wilson on pooled trials"]
    assert (round(100 * pooled.low, 1), round(100 * pooled.high, 1)) == (80.3, 88.7)
    resampled = numbers["percentile bootstrap"]
    assert resampled.low == pytest.approx(0.736, abs=0.012)
    assert resampled.high == pytest.approx(0.946, abs=0.012)
    (runs,) = found.run_summaries
    assert (round(100 * runs.lowest, 1), round(100 * runs.highest, 1)) == (75.0, 92.9)
    assert (round(100 * runs.sd_observed, 1), round(100 * runs.sd_expected, 1)) == (6.0, 4.0)
    assert runs.p_uneven == pytest.approx(0.027, abs=0.006)
    assert runs.p_value == pytest.approx(2 * runs.p_uneven)
    parts = {row.part: row for row in found.variance}
    assert parts["between tasks"].plug_in == pytest.approx(0.086, abs=5e-4)
    assert parts["within tasks"].plug_in == pytest.approx(0.045, abs=5e-4)
    assert parts["between tasks"].unbiased == pytest.approx(0.0806, abs=5e-5)
    assert parts["within tasks"].unbiased == pytest.approx(0.0500, abs=5e-5)


def test_below_100_tasks_the_quoted_interval_of_a_rate_is_korn_graubard(summary: Summary) -> None:
    assert {row.number.method for row in summary.arms if row.quoted} == {"Korn-Graubard"}


def test_every_number_says_what_it_estimates(summary: Summary) -> None:
    for name in ("arms", "curves", "days", "comparisons", "resources", "costs", "judges"):
        rows = table(summary, name)
        assert rows, name
        for row in rows:
            assert row["sentence"], (name, row)
            assert row["estimand_tasks"] > 0
            assert (row.get("estimate", row.get("per_solved_estimate")) is None) == (
                row.get("reason", row.get("per_solved_reason")) is not None
            ), row


def test_the_same_rows_and_seed_give_the_same_bytes(summary: Summary, simulated: Path, tmp_path: Path) -> None:
    again = aggregate(
        [str(simulated)], QUICK, map_partitions=lambda function, parts: [function(part) for part in parts]
    )
    assert again == summary
    folders = [tmp_path / name / save(found, str(tmp_path / name)) for name, found in (("a", summary), ("b", again))]
    for name in TABLES:
        assert (folders[0] / f"{name}.json").read_bytes() == (folders[1] / f"{name}.json").read_bytes()
    other = aggregate([str(simulated)], replace(QUICK, seed=1))
    assert other.provenance.summary_id != summary.provenance.summary_id


def test_parquet_and_json_hold_the_same_rows(summary: Summary, tmp_path: Path) -> None:
    folder = tmp_path / save(summary, str(tmp_path))
    for name in TABLES:
        rows = json.loads((folder / f"{name}.json").read_text())
        assert pq.read_table(folder / f"{name}.parquet").to_pylist() == rows
    assert json.loads((folder / "provenance.json").read_text())["seed"] == 0


def test_resource_settings_show_what_they_did(summary: Summary) -> None:
    def rate(resources: str, quantity: str) -> float:
        rows = [r for r in summary.resources if r.arm.resources == resources and r.quantity == quantity]
        return sum(r.count for r in rows) / sum(r.trials for r in rows)

    assert rate("1x", "with an OOM kill") > 0.05
    assert rate("3x", "with an OOM kill") == 0.0
    assert rate("1x", "infrastructure failures") > rate("3x", "infrastructure failures")
    for arm in {r.arm for r in summary.resources}:
        scores = {r.rule: r for r in summary.resources if r.arm == arm and r.quantity == "score"}
        assert scores["strict"].number.estimate <= scores["default"].number.estimate + 1e-12
        assert (
            scores["default"].bound_low
            <= scores["default"].count / scores["default"].trials
            <= scores["default"].bound_high
        )


def test_arms_under_different_settings_are_marked(summary: Summary) -> None:
    across = [r for r in summary.comparisons if "1x" in r.first + r.second and "3x" in r.first + r.second]
    assert across
    assert all("resource settings differ" in row.marks for row in across)
    within = [r for r in summary.comparisons if r.first.split(" / ")[1] == r.second.split(" / ")[1]]
    assert all(not row.marks for row in within)


def test_the_better_arm_is_found(summary: Summary) -> None:
    row = next(
        r for r in summary.comparisons if r.statistic == "pass@1" and r.first == "good / 3x" and r.second == "poor / 3x"
    )
    assert row.equivalence == "lower"
    assert row.p_adjusted >= row.p_value
    assert row.helped + row.hurt + row.tied == 24


def test_two_days_claim_no_day_effect(summary: Summary) -> None:
    rows = [r for r in summary.factors if r.part == "p of a day effect"]
    assert rows
    assert all(r.estimate is None and "Below 5" in r.note for r in rows)


def test_days_nodes_and_hours_are_factors_with_two_way_clustered_means(summary: Summary, simulated: Path) -> None:
    """The counts by day, node and hour are taken again from the files, and put to the same error by hand."""
    rows = pa.concat_tables(scan(Root(simulated))).to_pylist()
    kept = [
        row for row in rows
        if row["agent"] == "good" and row["resources"] == "3x" and row["final"]
        and ScoringRule.DEFAULT.counts(Status(row["status"]))
    ]  # fmt: skip
    levels = {
        "day": lambda row: row["day"],
        "node": lambda row: row["node"],
        "hour": lambda row: row["started_at"].hour,
    }
    for factor, level in levels.items():
        n = Counter((row["task"], level(row)) for row in kept)
        c = Counter((row["task"], level(row)) for row in kept if row["passed"])
        names, places = sorted({task for task, _ in n}), sorted({place for _, place in n})
        grids = [[[count[task, place] for place in places] for task in names] for count in (n, c)]
        wanted = two_way_clustered(*grids, factor=factor).interval
        found = next(
            r for r in summary.factors
            if r.factor == factor and r.arm.label == "good / 3x" and r.part == f"mean, clustered by task and {factor}"
        )  # fmt: skip
        assert (found.levels, found.estimate) == (len(places), pytest.approx(wanted.value))
        assert (found.low, found.high) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
        assert f"two-way clustered (CGM) by task and {factor}" in found.sentence


def test_a_factor_with_one_level_says_what_is_missing(simulated: Path) -> None:
    found = aggregate([str(simulated)], QUICK, selection="day=2026-01-01")
    days = [row for row in found.factors if row.factor == "day"]
    assert {row.levels for row in days} == {1}
    assert {row.estimate for row in days} == {None}
    assert {row.note for row in days} == {"A single day is known of these trials: its part of the variance needs 2."}


def test_the_quick_table_agrees_with_the_summary(summary: Summary, simulated: Path) -> None:
    curve = {(r.arm.label, r.estimand.statistic): r.number.estimate for r in summary.curves}
    for row in quick_table(str(simulated)):
        label = row.label.replace("/", " / ")
        assert row.pass_at_1 == pytest.approx(curve[label, "pass@1"])
        assert row.pass_at_3 == pytest.approx(curve[label, "pass@3"])
        assert row.pass_hat_3 == pytest.approx(curve[label, "pass^3"])


def test_a_rule_changes_the_denominator_and_is_named(simulated: Path) -> None:
    strict = aggregate([str(simulated)], replace(QUICK, rule=ScoringRule.STRICT))
    assert {row.estimand.rule for row in strict.arms} == {"strict"}
    assert {row.estimand.n_min for row in strict.arms} == {8}


def test_matrix_products_use_one_thread_so_that_results_do_not_depend_on_the_cores(
    simulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noting(suite: SuiteCells, settings: Settings) -> Resampled:
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return resample(suite, settings)

    monkeypatch.setattr("orchestrator.analysis.summary.resample", noting)
    with threadpool_limits(2, user_api="blas"):
        aggregate([str(simulated)], QUICK)
        after = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert seen
    assert set(seen) == {1}
    assert set(after) == {2}
