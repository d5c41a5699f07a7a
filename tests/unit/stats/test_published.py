"""Figures that others published, reproduced from the outcomes they published."""

import csv
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

from orchestrator.stats.bootstrap import bootstrap, percentile
from orchestrator.stats.grim import invert_pass_hat
from orchestrator.stats.intervals import pooled_wilson
from orchestrator.stats.passk import curve, pass_at_k, pass_hat_k
from orchestrator.stats.runs import run_to_run
from orchestrator.stats.tasks import task_lists
from orchestrator.stats.variance import variance_parts

PUBLISHED = Path(__file__).parents[2] / "data" / "published"


def _rows(*parts: str) -> list[dict[str, str]]:
    with PUBLISHED.joinpath(*parts).open(newline="") as file:
        return list(csv.DictReader(file))


def test_tau_bench_pass_hat_1_to_4() -> None:
    passes: dict[str, int] = {}
    for row in _rows("tau_bench", "trials.csv"):
        passes[row["task"]] = passes.get(row["task"], 0) + (float(row["reward"]) == 1)
    found = curve([4] * len(passes), list(passes.values()), "pass^k")
    exact = [Fraction(21, 50), Fraction(41, 150), Fraction(11, 50), Fraction(1, 5)]
    assert found.values == pytest.approx([float(value) for value in exact], abs=1e-15)
    assert [f"{value:.3f}" for value in found.values] == ["0.420", "0.273", "0.220", "0.200"]
    histogram = tuple(list(passes.values()).count(c) for c in range(5))
    assert invert_pass_hat(tuple(f"{100 * v:.1f}" for v in found.values), 50).histograms == (histogram,)


@pytest.mark.parametrize(
    ("complexity", "mean", "error"),
    [("low", 62.12, 1.52), ("medium", 36.84, 1.52), ("high", 33.33, 0.0), (None, 43.56, 0.89)],
)
def test_mle_bench_scores_and_their_standard_error_over_seeds(
    complexity: str | None, mean: float, error: float
) -> None:
    rows = [r for r in _rows("mle_bench_fm", "trials.csv") if complexity in (None, r["complexity"])]
    tasks = sorted({row["task"] for row in rows})
    table = np.full((len(tasks), 3), np.nan)
    for row in rows:
        table[tasks.index(row["task"]), int(row["seed"]) - 1] = float(row["any_medal"])
    found = run_to_run(table, rng=np.random.default_rng(0), shuffles=99)
    assert round(100 * float(np.mean(found.scores)), 2) == mean
    assert round(100 * found.sd / 3**0.5, 2) == error


@pytest.mark.parametrize("part", ["input", "output"])
def test_cruxeval_pass_at_1_and_5_of_the_same_rows(part: str) -> None:
    rows = [row for row in _rows("cruxeval", "mit_subset_codellama7b.csv") if row["part"] == part]
    n, c = [int(row["n"]) for row in rows], [int(row["c"]) for row in rows]
    assert c == [row["bits"].count("1") for row in rows]
    assert pass_at_k(n, c, 1).value == pytest.approx(sum(c) / sum(n))
    five = sum(1 - Fraction(comb(10 - x, 5), comb(10, 5)) for x in c) / len(c)
    assert pass_at_k(n, c, 5).value == pytest.approx(float(five), abs=1e-13)
    fewer = [len(row["bits"][:4]) for row in rows]
    refused = pass_at_k(fewer, [row["bits"][:4].count("1") for row in rows], 5)
    assert refused.value is None
    assert "800 of 800 tasks" in refused.reason


def test_tau2_leaderboard_rows_invert_to_one_histogram_or_to_none() -> None:
    attainable = 0
    for row in _rows("tau2_published", "reconstructed_histograms.csv"):
        decimals = int(row["decimals"])
        printed = tuple(f"{float(row[f'pass_{k}']):.{decimals}f}" for k in range(1, 5))
        found = invert_pass_hat(printed, int(row["tasks"]))
        assert found.attainable == (row["consistent"] == "1"), row
        if found.attainable:
            attainable += 1
            assert found.unique, row
            assert found.histograms[0] == tuple(int(row[f"tasks_with_c{c}"]) for c in range(5)), row
    assert attainable == 60


def test_every_figure_of_the_reconstructed_arm() -> None:
    rows = _rows("article_fixture", "haiku_coding_reconstructed.csv")
    tasks = sorted({row["task"] for row in rows})
    table = np.zeros((28, 10))
    for row in rows:
        table[tasks.index(row["task"]), int(row["repeat"]) - 1] = int(row["success"])
    n, c = np.full(28, 10), table.sum(axis=1)
    points = [pass_at_k(n, c, 1), pass_at_k(n, c, 3), pass_at_k(n, c, 10), pass_hat_k(n, c, 10)]
    assert [round(100 * p.value, 1) for p in points] == [85.0, 92.3, 96.4, 71.4]
    pooled = pooled_wilson(n, c)
    assert [round(100 * v, 1) for v in (pooled.low, pooled.high)] == [80.3, 88.7]
    over_tasks = percentile(bootstrap(c / n, rng=np.random.default_rng(6), replicates=100_000))[0]
    assert [round(100 * v, 1) for v in (over_tasks.low, over_tasks.high)] == [73.6, 94.6]
    noise = run_to_run(table, rng=np.random.default_rng(1), shuffles=20_000)
    figures = (noise.low, noise.high, noise.sd, noise.predicted_plugin)
    assert [round(100 * v, 1) for v in figures] == [75.0, 92.9, 6.0, 4.0]
    assert noise.test.p_uneven == pytest.approx(0.027, abs=0.005)
    parts = variance_parts(n, c)
    assert (round(parts.between_plugin, 3), round(parts.within_plugin, 3)) == (0.086, 0.045)
    assert (round(parts.between_unbiased, 4), round(parts.within_unbiased, 4)) == (0.0806, 0.05)
    lists = task_lists(n, c)
    assert (len(lists.always), len(lists.never), len(lists.flaky)) == (20, 1, 7)
