"""How the check values of comparisons, days, drift and judges are put to the statistics.

CHECKS maps the id or the group of a value to the function that asserts it; SKIPPED maps an id to the reason why no
function of the package could be put to it.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from orchestrator.stats import days, drift, judges, multiple, sequential, signflip

Case = dict[str, Any]


def _close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)


def check_sign_flip(case: Case) -> None:
    found = signflip.sign_flip([float(Fraction(v)) for v in case["input"]], rng=np.random.default_rng(0))
    assert found.exact
    _close(found.p, case["value"])


def check_monte_carlo(case: Case) -> None:
    assert case["value"] == "(b+1)/(m+1)"
    found = signflip.sign_flip(np.ones(40), rng=np.random.default_rng(0), flips=20_000)
    assert not found.exact
    assert found.p == found.smallest == 1 / 20_001


def check_sign_test(case: Case) -> None:
    wins, losses = case["input"]["wins"], case["input"]["losses"]
    _close(signflip.sign_test(wins, losses), case["value"])
    even = signflip.sign_flip([1.0] * wins + [-1.0] * losses, rng=np.random.default_rng(0))
    assert even.exact
    _close(even.p, case["value"])


def check_multiplicity(case: Case) -> None:
    functions = {
        "bonferroni": multiple.bonferroni,
        "holm": multiple.holm,
        "fdr_bh": multiple.benjamini_hochberg,
        "fdr_by": multiple.benjamini_yekutieli,
    }
    assert set(functions) == set(case["value"])
    for name, function in functions.items():
        _close(function(case["input"]).tolist(), case["value"][name], 1e-6)


def _two_way(case: Case, correct: bool) -> days.TwoWay:
    y, task, day = (np.array(case["input"][name]) for name in ("y", "task", "day"))
    shape = (task.max() + 1, day.max() + 1)
    flat = task * shape[1] + day
    n, total = (np.bincount(flat, weights=w, minlength=shape[0] * shape[1]).reshape(shape) for w in (None, y))
    return days.two_way_clustered(n, total, correct=correct)


def check_two_way(case: Case) -> None:
    plain, own = _two_way(case, False), _two_way(case, True)
    fewest = plain.interval.df + 1
    least = plain.raw * fewest / (fewest - 1)
    found = {
        "var_task_CR0": plain.by_task,
        "var_day_CR0": plain.by_level,
        "var_intersection_CR0": plain.by_cell,
        "cgm_CR0": plain.raw,
        "cgm_each_own_correction": own.raw,
        "cgm_min_G_correction": least,
        "statsmodels_2groups": own.raw,
        "pyfixest_twoway_CRV1_default": least,
        "pyfixest_twoway_G_conventional": own.raw,
    }
    _close(found, case["value"])
    assert (own.guarded, own.interval.df) == (False, 3)
    _close(own.interval.se**2, own.raw)


def check_two_way_negative(case: Case) -> None:
    found = _two_way(case, False)
    _close(found.raw, case["value"])
    assert found.guarded
    assert found.interval.se > 0
    assert found.interval.low < found.interval.high


def check_e_process(case: Case) -> None:
    n, s, p0 = (case["input"][name] for name in ("n", "s", "p0"))
    _close(sequential.mixture_e_value(n, s, p0), case["value"], 1e-10)


def check_alarm_rule(case: Case) -> None:
    waves = (1, 10, 52)
    _close([drift.two_se_false_alarms(m) for m in waves], case["value"], 1e-6)
    _close([drift.two_se_false_alarms(m, known_baseline=True) for m in waves], case["value2"], 1e-10)


def check_kappa(case: Case) -> None:
    """The point value, and the published iid error: with one trial per task, CR2 at N is that error at N - 1."""
    table = np.array(case["input"])
    value = judges.cohen_kappa(table)
    if case["value"] is None:
        assert value is None
        assert judges.cohen_kappa(table.T) is None
        return
    _close(value, case["value"])
    truth = np.repeat([1, 1, 0, 0], table.ravel())
    judge = np.repeat([1, 0, 1, 0], table.ravel())
    found = judges.agreement(judge, truth, np.arange(truth.size))
    _close(found.kappa.value, case["value"])
    _close(found.agreement.value, case["agreement"])
    size = truth.size
    _close(found.kappa.se * ((size - 1) / size) ** 0.5, case["se_statsmodels"], 1e-9)


def check_kappa_labels(case: Case) -> None:
    _close(judges.cohen_kappa(judges.label_table(*case["input"])), case["value"])


def check_kappa_weighted(case: Case) -> None:
    table = judges.label_table(*case["input"])
    names = {"unweighted": "none", "linear": "linear", "quadratic": "quadratic"}
    _close({name: judges.cohen_kappa(table, weights) for name, weights in names.items()}, case["value"])


CHECKS: dict[str, Callable[[Case], None]] = {
    "sign-flip": check_sign_flip,
    "mc_p": check_monte_carlo,
    "sign_test_15_5": check_sign_test,
    "sign_test_5_2": check_sign_test,
    "sign_test_10_0": check_sign_test,
    "multiplicity": check_multiplicity,
    "twoway": check_two_way,
    "twoway_negative": check_two_way_negative,
    "sequential": check_e_process,
    "drift": check_alarm_rule,
    "kappa": check_kappa,
    "kappa_sklearn_doc": check_kappa_labels,
    "kappa_weighted": check_kappa_weighted,
}

SKIPPED: dict[str, str] = {}
