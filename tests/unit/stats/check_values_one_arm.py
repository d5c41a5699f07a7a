"""How the check values of one arm, of planning and of printed figures are put to the statistics.

CHECKS maps the id or the group of a value to the function that asserts it; SKIPPED maps an id to the reason why no
function of the package could be put to it.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil, comb, floor, inf, lgamma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from orchestrator.stats import bayes, bootstrap, cost, intervals, passk, planning, runs, variance

Case = dict[str, Any]
PUBLISHED = Path(__file__).parents[2] / "data" / "published"


def _close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)


def check_pass(case: Case) -> None:
    task = passk.pass_at_k_task if case["group"] == "pass@k" else passk.pass_hat_k_task
    arm = passk.pass_at_k if case["group"] == "pass@k" else passk.pass_hat_k
    if case["id"] == "duality":
        for n in range(1, 31):
            c, tasks = np.arange(n + 1), np.full(n + 1, n)
            _close(passk.task_curve(tasks, c, n, "pass^k"), 1 - passk.task_curve(tasks, n - c, n, "pass@k"))
            for k in range(1, n + 1):
                _close(passk.pass_hat_k_task(n, n // 2, k), 1 - passk.pass_at_k_task(n, n - n // 2, k))
        return
    n, c, k = case["input"]["n"], case["input"]["c"], case["input"]["k"]
    if case["value"] is None:
        assert task(n, c, k) is None
        assert arm([n], [c], k).value is None
        assert arm([n], [c], k).reason
        return
    exact = float(Fraction(case["exact"]))
    for found in (task(n, c, k), arm([n, n], [c, c], k).value):
        assert found == pytest.approx(exact, abs=1e-12)
    _close(float(passk.task_curve([n], [c], k, case["group"])[0, -1]), exact)
    _close(exact, case["value"])


def check_bias(case: Case) -> None:
    p, n, k = float(Fraction(case["input"]["p"])), case["input"]["n"], case["input"]["k"]
    c = np.arange(n + 1)
    mass = scipy_stats.binom.pmf(c, n, p)
    at, hat = (passk.task_values(np.full(n + 1, n), c, k, s) for s in ("pass@k", "pass^k"))
    found = {
        "true_pass_at_k": 1 - (1 - p) ** k,
        "E_unbiased": float(mass @ at),
        "E_plugin_pass_at_k": float(mass @ (1 - (1 - c / n) ** k)),
        "true_pass_hat_k": float(mass @ hat),
        "E_plugin_pass_hat_k": float(mass @ (c / n) ** k),
    }
    _close(found, case["value"])


def check_estimator_variance(case: Case) -> None:
    p, k = case["input"]["p"], case["input"]["k"]
    _close([planning.estimator_variance(p, n, k, "pass@k") for n in case["input"]["n"]], case["value"], 1e-11)
    _close([planning.estimator_variance(1 - p, n, k, "pass^k") for n in case["input"]["n"]], case["value"], 1e-11)


def check_float_error(case: Case) -> None:
    worst, worst_log = 0.0, 0.0
    for n in (10, 50, 100, 200, 500, 1000):
        for c in sorted({0, 1, n // 10, n // 2, n - 2, n - 1, n}):
            for k in sorted({1, 2, 5, n // 2, n - 1, n}):
                exact = Fraction(comb(n - c, k), comb(n, k))
                worst = max(worst, abs(1 - passk.pass_at_k_task(n, c, k) - float(exact)))
                if n - c >= k:
                    logs = lgamma(n - c + 1) - lgamma(n - c - k + 1) - lgamma(n + 1) + lgamma(n - k + 1)
                    worst_log = max(worst_log, abs(np.exp(logs) - float(exact)))
    assert worst < 1e-14
    assert worst < case["value"]["lgamma diff"]
    assert worst < worst_log


def check_interval(case: Case) -> None:
    x, n, level = case["input"]["x"], case["input"]["n"], case["input"]["conf"]
    _close(intervals.wilson(x, n, level), case["value"])
    _close(intervals.wilson(x, n, 2 * float(scipy_stats.norm.cdf(1.96)) - 1), case["with_z_1_96"])
    _close(intervals.clopper_pearson(x, n, level), case["clopper_pearson"])
    _close(intervals.beta_interval(x, n, level), case["jeffreys"])
    _close(intervals.beta_interval(x, n, level, prior=1.0), case["uniform_prior"])


def check_miller_z2(case: Case) -> None:
    _close(planning.tasks_needed(planning.Noise(1.0, 0.0, 0.0), 1.0).exact, case["value"])


def check_miller_969(case: Case) -> None:
    found = planning.tasks_needed(planning.Noise(1 / 9, 0.0, 0.0), case["input"]["delta"])
    _close(found.exact, case["value"])
    assert found.tasks == 969


def check_miller_mde(case: Case) -> None:
    noise = planning.Noise(1 / 9, 1 / 6, 1 / 6)
    found = [planning.smallest_difference(noise, 198, repeats_a=r, repeats_b=r) for r in case["input"]["K"]]
    _close(found, case["value"])


def check_miller_resampling(case: Case) -> None:
    noise = planning.Noise(1 / 12, 1 / 6, 0.0)
    one = noise.per_task(1, 1)
    _close([noise.per_task(r, 1) / one for r in (1, 2, 4, 6, inf)], case["value"])
    pool = planning.RatePool.beta(1, 1)
    _close([planning.design_error(pool, 1, r, 1) ** 2 for r in (1, 2, 4, 6)], [one * v for v in case["value"][:4]])


def check_miller_pair_uniform(case: Case) -> None:
    """Its unpaired value follows from its input; its paired value, 1/9, belongs to a correlation of 1/3, since a
    correlation of 1/2 leaves 1/12. What is held to is the formula, at the correlation that fits the value."""
    unpaired, paired = case["value"]
    _close(planning.Noise(0.0, 1 / 12, 1 / 12).per_task(1, 1), unpaired)
    _close(planning.Noise(2 / 12 - 2 * (1 / 3) / 12, 0.0, 0.0).per_task(1, 1), paired)


def check_miller_temperature(case: Case) -> None:
    def spread(x: np.ndarray) -> float:
        return intervals.cluster_error(x, np.ones_like(x), "CR0").se ** 2 * x.size

    grid = (np.arange(30_000) + 0.5) / 30_000
    skewed = 1 / 3 + 2 / 3 * grid
    greedy = [(x > 0.5).astype(float) for x in (grid, skewed)]
    found = {
        "var_T1": spread(grid),
        "var_T0": spread(greedy[0]),
        "var2_T1": spread(skewed),
        "var2_T0": spread(greedy[1]),
        "mean_T1": float(skewed.mean()),
        "mean_T0": float(greedy[1].mean()),
    }
    _close(found, case["value"], 1e-6)


def _sizes(omega2: float, sigma: float, delta: float, z2: float, repeats: tuple[float, ...]) -> list[float]:
    """Tasks by the formula, for a printed (z_a/2 + z_b)^2 that was rounded."""
    noise = planning.Noise(omega2, sigma, 0.0)
    scale = planning.tasks_needed(planning.Noise(1.0, 0.0, 0.0), 1.0).exact
    return [planning.tasks_needed(noise, delta, repeats_a=r).exact / scale * z2 for r in repeats]


def check_sizes_implied(case: Case) -> None:
    given, value = case["input"], case["value"]
    sigma = given["n1"] * given["delta"] ** 2 / 7.84 - given["omega2"]
    _close(sigma, value.get("implied_sigmaA2_plus_sigmaB2", value.get("implied_sigma_sum")))
    for name, repeats in (("n_K5", 5.0), ("n_K10", 10.0), ("n_inf", inf)):
        if name in value:
            _close(_sizes(given["omega2"], sigma, given["delta"], 7.84, (repeats,)), [value[name]], 1e-9)


_ROUNDING: dict[str, Callable[[float], int]] = {"ceil": ceil, "floor": floor, "round": round}


def check_sizes_coding(case: Case) -> None:
    for omega2, sigma, z2, rounding in case["value"]["examples"]:
        found = _sizes(omega2, sigma, 0.05, z2, (1, 5, 10, inf))
        assert [_ROUNDING[rounding](n) for n in found] == [356, 193, 173, 153]
    omegas, sigmas = 0.0485 + np.arange(51) * 2e-5, np.arange(600, 701) * 1e-4
    per_task = omegas[:, None, None, None] + sigmas[:, None, None] / np.array([1, 5, 10, inf])
    sizes = per_task * np.array([7.84, 7.849])[:, None] / 0.05**2
    hits = [(f(sizes) == [356, 193, 173, 153]).all(axis=-1).sum() for f in (np.ceil, np.floor, np.round)]
    assert sum(hits) == case["value"]["n_solutions"]


def check_sizes_questions(case: Case) -> None:
    """The count itself hangs on float ties at the edges of its grid; the grid with ceiling does not."""
    for omega2, sigma, delta, z2, rounding in case["value"]["examples"]:
        found = _sizes(omega2, sigma, delta, z2, (1, 5, 10))
        assert [_ROUNDING[rounding](n) for n in found] == [180, 69, 55]
    omegas, deltas = 0.0495 + np.arange(21) * 5e-5, 0.0965 + np.arange(11) * 1e-4
    sigmas = np.arange(500, 1200) * 2e-4
    per_task = omegas[:, None, None, None, None] + sigmas[:, None, None, None] / np.array([1, 5, 10])
    sizes = per_task * np.array([7.84, 7.849])[:, None] / (deltas**2)[:, None, None]
    functions = {"ceil": np.ceil, "floor": np.floor, "round": np.round}
    hits = {name: int((f(sizes) == [180, 69, 55]).all(axis=-1).sum()) for name, f in functions.items()}
    assert hits["ceil"] == case["value"]["by_rounding"]["ceil"]
    assert hits == pytest.approx(case["value"]["by_rounding"], rel=0.01)
    assert sum(hits.values()) == pytest.approx(case["value"]["n_solutions"], rel=0.01)


def check_histograms(case: Case) -> None:
    fits = []
    for flaky in combinations_with_replacement(range(1, 10), 6):
        if sum(flaky) != 35:
            continue
        n, c = [10] * 28, [*flaky, 10, 0, 3] + [10] * 19
        parts = variance.variance_parts(n, c)
        predicted = (28 * parts.within_plugin / 10) ** 0.5 / 28 * 100
        passes = passk.pass_at_k(n, c, 3).value * 100
        printed = (round(passes, 1), round(predicted * 10**0.5, 1))
        if printed[0] == 92.3 and round(parts.within_plugin, 3) == 0.045 and round(parts.observed, 3) == 0.086:
            fits.append(list(flaky))
    assert fits == case["value"]["examples"]
    assert len(fits) == case["value"]["n_solutions"]


def check_haiku_fixture(case: Case) -> None:
    c = case["input"]["c"]
    n = [case["input"]["n"]] * len(c)
    found = {f"pass_at_{k}": v for k, v in enumerate(passk.curve(n, c, "pass@k").values, 1)}
    found |= {f"pass_hat_{k}": v for k, v in enumerate(passk.curve(n, c, "pass^k").values, 1)}
    _close(found, case["value"])


def haiku_outcomes() -> np.ndarray:
    rows = np.genfromtxt(
        PUBLISHED / "article_fixture" / "haiku_coding_reconstructed.csv",
        delimiter=",",
        names=True,
        dtype=None,
        encoding="utf-8",
    )
    names = np.unique(rows["task"])
    table = np.full((names.size, 10), np.nan)
    table[np.searchsorted(names, rows["task"]), rows["repeat"] - 1] = rows["success"]
    return table


def check_haiku_bootstrap(case: Case) -> None:
    rates = haiku_outcomes().mean(axis=1)
    run = bootstrap.bootstrap(rates, rng=np.random.default_rng(7), replicates=100_000)
    step = 1 / 280 + 1e-9
    for found, expected in ((bootstrap.percentile(run)[0], case["value"]), (bootstrap.bca(run)[0], case["bca"])):
        assert (found.low, found.high) == pytest.approx(expected, abs=step)
    found = intervals.mean_interval(rates)
    _close((found.low, found.high), case["t_interval"])


def check_cluster(case: Case) -> None:
    y, g, value = np.array(case["input"]["y"], dtype=float), np.array(case["input"]["g"]), case["value"]
    sums, sizes = np.bincount(g, weights=y), np.bincount(g)
    errors = {name: intervals.cluster_error(sums, sizes, name) for name in ("CR0", "CR1", "CR2", "CR3")}
    clusters, ones = sizes.size, np.ones_like(y)
    naive = intervals.cluster_error(y, ones, "CR1").se
    plain = intervals.cluster_error(y, ones, "CR0").se
    run = bootstrap.bootstrap_ratio(
        sums, sizes, rng=np.random.default_rng(0), replicates=1, estimand=intervals.mean_interval(y).estimand
    )
    left_out, times = run.jackknife[:, 0], run.multiplicity
    centre = float(times @ left_out / times.sum())
    found = {name: error.se for name, error in errors.items()}
    found |= {
        "statsmodels_default": errors["CR1"].se,
        "naive_clt": naive,
        "sd_task_means_over_sqrtT": intervals.mean_interval(sums / sizes).se,
        "miller_eq4": (errors["CR0"].se ** 2 + naive**2 - plain**2) ** 0.5,
        "jackknife_CV3J": float((clusters - 1) / clusters * times @ (left_out - centre) ** 2) ** 0.5,
        "jackknife_about_full_mean_CV3": errors["CR3"].se * ((clusters - 1) / clusters) ** 0.5,
        "pyfixest_CRV1": errors["CR1"].se,
        "pyfixest_CRV3": errors["CR3"].se * (clusters / (clusters - 1)) ** 0.5,
        "CR2_satterthwaite_dof": errors["CR2"].df,
    }
    _close(found, value, 1e-10)


def check_t_crit(case: Case) -> None:
    _close([intervals.t_quantile(0.95, g - 1) for g in (2, 3, 4, 5, 7, 10, 14, 28, 50)], case["value"], 1e-10)


def check_wild_min_p(case: Case) -> None:
    """Signs of G clusters that all agree: shuffling pairs of outcomes across two repeats flips the same signs."""
    for clusters, expected in case["value"].items():
        found = runs.shuffle_test([[1, 0]] * int(clusters), rng=np.random.default_rng(0))
        assert found.exact
        _close(found.p_uneven, expected)


def check_boot_exact(case: Case) -> None:
    values = [float(Fraction(v)) for v in case["input"]]
    run = bootstrap.bootstrap(values, rng=np.random.default_rng(3), replicates=200_000)
    assert run.replicates.mean() == pytest.approx(case["value"]["mean"], abs=0.002)
    assert run.replicates.var() == pytest.approx(case["value"]["var"], rel=0.015)
    error = intervals.cluster_error(values, [1, 1, 1], "CR0")
    _close(error.se**2, case["value"]["expected_var_formula"])


def check_boot_shrink(case: Case) -> None:
    z = intervals.normal_quantile(0.95)
    found = {t: z * ((int(t) - 1) / int(t)) ** 0.5 / intervals.t_quantile(0.95, int(t) - 1) for t in case["value"]}
    # The values were computed with z cut at 1.959964.
    _close(found, case["value"], 1e-8)


def check_batch_perm(case: Case) -> None:
    found = runs.shuffle_test(case["input"]["rows"], rng=np.random.default_rng(0))
    assert found.exact
    _close(found.p_uneven, case["value"])


def check_article_batch(case: Case) -> None:
    found = runs.run_to_run(haiku_outcomes(), rng=np.random.default_rng(11), shuffles=20_000)
    assert found.test.p_uneven == pytest.approx(case["value"], abs=5 * 0.0012)
    assert found.test.p == pytest.approx(2 * found.test.p_uneven)
    assert [round(s * 28) for s in found.scores] == [25, 21, 22, 22, 26, 23, 24, 25, 25, 25]
    printed = (found.sd, found.predicted_plugin, found.predicted_unbiased, found.low, found.high)
    assert [round(100 * v, 2) for v in printed] == [6.02, 4.01, 4.23, 75.0, 92.86]


def check_beta_pow(case: Case) -> None:
    _close([bayes.posterior_pass_hat_k(10, 7, k) for k in (1, 3, 5, 10)], case["value"])


def check_rule_of_three(case: Case) -> None:
    _close([bayes.rule_of_three(n) for n in (28, 30, 100)], case["value"])


def check_cost(case: Case) -> None:
    def solved(per_trial: float, rate: float) -> float:
        return cost.cost_per_solved([per_trial * 1000], [round(rate * 1000)]).value

    cheap, dear = solved(0.0026, 0.85), solved(0.0191, 0.90)
    _close([solved(0.00137, 0.772), solved(0.00192, 0.869), dear / cheap], case["value"])


def check_power(case: Case) -> None:
    given = case["input"]
    noise = planning.Noise(given["omega2"], given["sigma_sum"], 0.0)
    for name, expected in case["value"].items():
        tasks, repeats = (int(part[1:]) for part in name.split("_"))
        _close(planning.normal_power(noise, given["delta"], tasks, repeats_a=repeats), expected, 1e-7)


def check_allocation(case: Case) -> None:
    noise = planning.Noise(0.0808, 0.0498, 0.0)
    found = {n: noise.per_task(int(n), inf) / (280 / int(n)) for n in case["value"]}
    _close(found, case["value"])


def check_budget(case: Case) -> None:
    given = case["input"]
    a, b = (float(v) for v in given["p"][5:-1].split(","))
    designs = planning.budget(
        planning.RatePool.beta(a, b),
        given["B"],
        k=given["k"],
        tasks_available=given["pool"],
        repeats=[int(n) for n in case["value"]],
        statistic="pass^k",
    )
    _close({str(design.repeats): design.se for design in designs}, case["value"], 1e-10)


def check_shooter(case: Case) -> None:
    """Rates of several trials in a row, as the expectation of the unbiased estimators at a known rate."""

    def expected(p: float, k: int, statistic: passk.Statistic) -> float:
        c = np.arange(k + 1)
        return float(scipy_stats.binom.pmf(c, k, p) @ passk.task_values(np.full(k + 1, k), c, k, statistic))

    found = [expected(0.7, 3, "pass@k")]
    found += [expected(p, k, "pass^k") for p, k in ((0.7, 3), (0.85, 10), (0.9, 8), (0.75, 3))]
    _close([*found, planning.estimator_variance(0.7, 10, 1) ** 0.5], case["value"], 1e-10)


def check_ci_ratio(case: Case) -> None:
    """The ratio of the widths as printed, in points with one decimal."""
    outcomes = haiku_outcomes()
    run = bootstrap.bootstrap(outcomes.mean(axis=1), rng=np.random.default_rng(6), replicates=100_000)
    pooled = intervals.pooled_wilson(np.full(28, 10), outcomes.sum(axis=1))
    widths = [round(100 * i.high, 1) - round(100 * i.low, 1) for i in (bootstrap.percentile(run)[0], pooled)]
    _close(widths[0] / widths[1], case["value"], 1e-9)


def _two_rates(rate: float, difference: float, alpha: float) -> float:
    noise = planning.Noise(0.0, rate * (1 - rate), rate * (1 - rate))
    return planning.tasks_needed(noise, difference, alpha=alpha, power=0.5).exact


def check_infra_errors(case: Case) -> None:
    _close(_two_rates((0.058 + 0.021) / 2, 0.058 - 0.021, 0.001), case["value"], 1e-9)


def check_infra_gap(case: Case) -> None:
    _close(_two_rates(0.5, 0.06, 0.01), case["value"], 1e-9)


def check_infra_swe(case: Case) -> None:
    z = [0.0154 / (planning.Noise(0.0, p * (1 - p), p * (1 - p)).per_task(1, 1) / 2270) ** 0.5 for p in (0.5, 0.7)]
    _close(z, case["value"])


CHECKS: dict[str, Callable[[Case], None]] = {
    "pass@k": check_pass,
    "pass^k": check_pass,
    "estimator bias": check_bias,
    "estimator variance": check_estimator_variance,
    "numerics": check_float_error,
    "interval": check_interval,
    "miller_z2": check_miller_z2,
    "miller_969": check_miller_969,
    "miller_mde": check_miller_mde,
    "miller_resampling": check_miller_resampling,
    "miller_pair_uniform": check_miller_pair_uniform,
    "miller_temperature": check_miller_temperature,
    "article_questions_implied": check_sizes_implied,
    "article_coding_implied": check_sizes_implied,
    "article_coding_solutions": check_sizes_coding,
    "article_questions_solutions": check_sizes_questions,
    "article_haiku_histograms": check_histograms,
    "article_haiku_fixture": check_haiku_fixture,
    "article_haiku_bootstrap": check_haiku_bootstrap,
    "cluster_balanced": check_cluster,
    "cluster_unbalanced": check_cluster,
    "t_crit": check_t_crit,
    "wild_min_p": check_wild_min_p,
    "boot_exact": check_boot_exact,
    "boot_t_shrink": check_boot_shrink,
    "batch_perm": check_batch_perm,
    "article_batch_perm": check_article_batch,
    "beta_pow": check_beta_pow,
    "rule_of_three": check_rule_of_three,
    "cost": check_cost,
    "power": check_power,
    "allocation": check_allocation,
    "budget": check_budget,
    "article_shooter": check_shooter,
    "article_ci_ratio": check_ci_ratio,
    "infra_58_21": check_infra_errors,
    "infra_6pt": check_infra_gap,
    "infra_swe": check_infra_swe,
}

SKIPPED: dict[str, str] = {
    "infra_spread": "Differences of figures printed in an article: no function of the package takes part in them.",
}
