"""A small, fast part of the coverage simulation: the quoted intervals hold, and the known gaps are still there."""

from tests.sim.coverage import (
    HIGH,
    LARGE,
    MIDDLE,
    _korn_graubard,
    _percentile,
    cost_covered,
    covered,
    shuffle_size,
    sign_flip_size,
    these_tasks_covered,
)


def test_korn_graubard_holds_at_28_tasks_where_the_percentile_bootstrap_does_not() -> None:
    quoted = covered(HIGH, _korn_graubard, HIGH.mean, 1500, 0)
    assert 0.92 <= quoted <= 0.98
    bootstrapped = covered(HIGH, _percentile, HIGH.mean, 600, 1)
    assert bootstrapped < 0.92


def test_the_percentile_bootstrap_holds_from_100_tasks() -> None:
    assert 0.92 <= covered(MIDDLE, _percentile, MIDDLE.mean, 600, 2) <= 0.98


def test_intervals_of_exact_tasks_and_of_cost_hold() -> None:
    assert 0.92 <= these_tasks_covered(LARGE, 1000, 3) <= 0.98
    assert 0.92 <= cost_covered(LARGE, 1000, 4) <= 0.98


def test_tests_keep_their_size() -> None:
    assert 0.02 <= shuffle_size(MIDDLE, 300, 5) <= 0.08
    assert 0.035 <= sign_flip_size(MIDDLE, 2000, 6) <= 0.065
