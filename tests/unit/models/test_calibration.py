"""Calibration: known figures, honest gaps, and nothing where nothing is defined."""

import pytest

from orchestrator.models.calibration import Figure, Pair, calibrate, gap
from orchestrator.models.judge import Graded
from orchestrator.models.judgements import (
    JudgementError,
    first_grades,
    grade_of,
    material,
    pairs,
    parse_grade,
    parse_labels,
)
from orchestrator.models.judging import Judgement
from orchestrator.models.transcript import Event


def table(arm: str, both: int, judge_only: int, known_only: int, neither: int) -> list[Pair]:
    cells = (
        [(True, True)] * both + [(True, False)] * judge_only + [(False, True)] * known_only + [(False, False)] * neither
    )
    return [Pair(arm, f"t{n % 25}", judge, known) for n, (judge, known) in enumerate(cells)]


def test_the_textbook_table() -> None:
    """20, 5, 10, 15: agreement 0.7, kappa 0.4 (the worked example of Cohen's kappa in common use)."""
    (found,) = calibrate(table("a", 20, 5, 10, 15))
    assert found.agreement.value == pytest.approx(0.7)
    assert found.kappa.value == pytest.approx(0.4)
    assert found.sensitivity.value == pytest.approx(20 / 30)
    assert found.specificity.value == pytest.approx(15 / 20)
    assert (found.judge_rate, found.known_rate) == (0.5, 0.6)
    assert found.kappa.low is not None
    assert found.kappa.low < 0.4 < (found.kappa.high or 0)
    assert calibrate(table("a", 20, 5, 10, 15)) == [found]


def test_a_constant_side_has_no_kappa_but_an_ac1() -> None:
    (found,) = calibrate(table("a", 45, 5, 0, 0))
    assert found.kappa == Figure(None)
    assert found.sensitivity.value == 1.0
    assert found.specificity.value == 0.0
    assert found.gwet.value == pytest.approx((0.9 - 2 * 0.95 * 0.05) / (1 - 2 * 0.95 * 0.05))
    (perfect,) = calibrate(table("a", 50, 0, 0, 0))
    assert perfect.specificity == Figure(None)


def test_one_task_gives_no_interval() -> None:
    (found,) = calibrate([Pair("a", "t", True, True), Pair("a", "t", False, True)])
    assert found.agreement == Figure(0.5)


def test_a_judge_that_favours_an_arm_shows_in_the_gap() -> None:
    arms = calibrate(table("fair", 25, 0, 0, 25) + table("favoured", 25, 20, 0, 5))
    seen, true = gap(arms)  # type: ignore[misc]
    assert seen == pytest.approx(0.4)
    assert true == pytest.approx(0.0)
    assert gap(arms[:1]) is None


def graded(passed: bool | None) -> Graded:
    return Graded(Judgement(passed, None if passed is None else float(passed), "x"), "text", "v", 0.1)


def test_grades_are_written_and_read_back_and_the_first_counts() -> None:
    one, two = grade_of("a-0", 0, graded(True)), grade_of("a-0", 1, graded(False))
    assert parse_grade(one.data()) == one
    assert one.name != two.name
    assert first_grades([two, one]) == {"a-0": one}
    unclear = grade_of("b-0", 0, graded(None))
    known = {"a-0": False, "b-0": True, "c-0": True}
    assert list(pairs(first_grades([one, unclear]), known)) == [("a-0", True, False)]
    for data in (b"", b"[]", b'{"a": 1}'):
        with pytest.raises(JudgementError):
            parse_grade(data)


def test_labels_are_strict() -> None:
    assert parse_labels("attempt_id,passed\na-0,1\nb-0, Fail\n", "l.csv") == {"a-0": True, "b-0": False}
    for text in ("id,passed\na,1\n", "attempt_id,passed\na,maybe\n", "attempt_id,passed\na,1\na,0\n", ""):
        with pytest.raises(JudgementError, match=r"l\.csv"):
            parse_labels(text, "l.csv")


def test_a_judge_sees_neither_the_harness_nor_the_system_prompt() -> None:
    events = [
        Event("system", "you are arm A"),
        Event("user", "do it"),
        Event("harness", event="agent_result", fields={"arm": "A"}),
        Event("assistant", "done"),
        Event("user", "thanks", name="simulated_user"),
    ]
    instruction, said = material(events)
    assert instruction == "do it"
    assert "arm A" not in said
    assert "agent_result" not in said
    assert "done" in said
    assert "thanks" in said
