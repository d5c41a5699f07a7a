"""pass@k and pass^k against brute force, exact fractions and their own identities."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.stats.passk import (
    curve,
    pass_at_k,
    pass_at_k_task,
    pass_hat_k,
    pass_hat_k_task,
    task_curve,
    task_values,
)

# Other work on the machine must not fail a property.
quiet = settings(deadline=None, max_examples=60)


@st.composite
def cells(draw: st.DrawFn, largest: int = 40) -> tuple[int, int, int]:
    n = draw(st.integers(1, largest))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@st.composite
def arms(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    n = draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    return n, [draw(st.integers(0, trials)) for trials in n]


@quiet
@given(cells(largest=9))
def test_counting_all_subsets_gives_the_same(cell: tuple[int, int, int]) -> None:
    n, c, k = cell
    outcomes = [1] * c + [0] * (n - c)
    subsets = list(combinations(outcomes, k))
    assert pass_at_k_task(n, c, k) == pytest.approx(sum(any(s) for s in subsets) / len(subsets), abs=1e-13)
    assert pass_hat_k_task(n, c, k) == pytest.approx(sum(all(s) for s in subsets) / len(subsets), abs=1e-13)


@pytest.mark.parametrize("n", [100, 1_000, 9_999, 10_000])
def test_exact_to_1e_12_up_to_10_000(n: int) -> None:
    for c in (0, 1, 2, n // 3, n // 2, n - 2, n - 1, n):
        for k in (1, 2, 7, n // 100, n // 2, n - 1, n):
            exact = float(Fraction(comb(c, k), comb(n, k)))
            assert abs(pass_hat_k_task(n, c, k) - exact) < 1e-12
            assert abs(pass_at_k_task(n, n - c, k) - (1 - exact)) < 1e-12


def test_the_curve_is_as_exact_as_the_points() -> None:
    n = 10_000
    found = task_curve([n, n], [9_990, 5_000], n, "pass^k")
    for k in (1, 10, 500, 5_000, n):
        for row, c in enumerate((9_990, 5_000)):
            assert abs(found[row, k - 1] - float(Fraction(comb(c, k), comb(n, k)))) < 1e-12


@quiet
@given(cells())
def test_bounds_and_order(cell: tuple[int, int, int]) -> None:
    n, c, k = cell
    at, hat = pass_at_k_task(n, c, k), pass_hat_k_task(n, c, k)
    assert 0 <= hat <= c / n + 1e-12
    assert c / n - 1e-12 <= at <= 1
    assert hat == pytest.approx(1 - pass_at_k_task(n, n - c, k), abs=1e-12)


@quiet
@given(arms())
def test_curves_are_monotone_and_start_at_the_mean_rate(arm: tuple[list[int], list[int]]) -> None:
    n, c = arm
    at, hat = curve(n, c, "pass@k"), curve(n, c, "pass^k")
    rate = float(np.mean(np.array(c) / np.array(n)))
    assert at.values[0] == pytest.approx(rate)
    assert hat.values[0] == pytest.approx(rate)
    assert at.ks == tuple(range(1, min(n) + 1))
    assert np.all(np.diff(at.values) >= -1e-12)
    assert np.all(np.diff(hat.values) <= 1e-12)


@quiet
@given(arms(), st.integers(1, 14))
def test_an_arm_is_the_mean_of_its_tasks_or_refused(arm: tuple[list[int], list[int]], k: int) -> None:
    n, c = arm
    for whole, single in ((pass_at_k, pass_at_k_task), (pass_hat_k, pass_hat_k_task)):
        found, parts = whole(n, c, k), [single(a, b, k) for a, b in zip(n, c, strict=True)]
        if None in parts:
            assert found.value is None
            assert str(parts.count(None)) in found.reason
        else:
            assert found.value == pytest.approx(np.mean(parts), abs=1e-12)
            assert found.reason is None
        assert (found.estimand.n_min, found.estimand.n_max, found.estimand.k) == (min(n), max(n), k)


def test_k_above_n_is_refused_and_never_a_number() -> None:
    assert pass_at_k_task(3, 3, 4) is None
    assert pass_hat_k_task(3, 0, 4) is None
    with pytest.raises(ValueError, match="exceeds"):
        task_values([3, 10], [1, 1], 4)
    with pytest.raises(ValueError, match="exceeds"):
        task_curve([3, 10], [1, 1], 4)
    points = curve([3, 10], [3, 5], "pass@k", k_max=5)
    assert points.values[3:] == (None, None)
    assert "smallest n = 3" in points.reasons[3]


def test_a_task_set_per_k_prints_its_sizes_and_says_that_they_differ() -> None:
    points = curve([1, 3, 10], [1, 0, 10], "pass^k", task_set="per k")
    assert points.tasks == (3, 2, 2, 1, 1, 1, 1, 1, 1, 1)
    assert points.values[2] == pytest.approx(0.5)
    assert "not comparable" in points.note
    assert curve([3, 3], [1, 1]).note is None


@pytest.mark.parametrize(
    ("n", "c"), [([3], [4]), ([3], [-1]), ([0], [0]), ([3, 3], [1]), ([2.5], [1]), ([[3]], [[1]]), ([3.0], [np.nan])]
)
def test_cells_that_are_none_are_refused(n: list[float], c: list[float]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        pass_at_k(n, c, 1)


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_1_is_refused(k: int) -> None:
    for call in (lambda: pass_at_k_task(3, 1, k), lambda: pass_hat_k([3], [1], k), lambda: task_curve([3], [1], k)):
        with pytest.raises(ValueError, match="at least 1"):
            call()


def test_an_empty_arm_has_no_value() -> None:
    found = pass_at_k([], [], 1)
    assert (found.value, found.reason) == (None, "There is no task.")
