"""Calibration: known figures, honest gaps, and nothing where nothing is defined."""

import pytest

from orchestrator.models.calibration import Pair, calibrate, repeatability
from orchestrator.models.judge import Graded
from orchestrator.models.judgements import (
    JudgementError,
    first_grades,
    grade_of,
    graded_twice,
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
    found = calibrate(table("a", 20, 5, 10, 15))
    ((arm, figures),) = found.arms
    assert arm == "a"
    assert figures.agreement.value == pytest.approx(0.7)
    assert figures.kappa.value == pytest.approx(0.4)
    assert figures.sensitivity.value == pytest.approx(20 / 30)
    assert figures.specificity.value == pytest.approx(15 / 20)
    assert (figures.judged, figures.prevalence) == (0.5, 0.6)
    assert (found.equal, found.gap) == ((), None)


def test_a_judge_that_favours_an_arm_shows_in_the_gap_and_in_the_test() -> None:
    pairs = table("fair", 25, 0, 0, 25) + table("favoured", 25, 20, 0, 5)
    found = calibrate(pairs)
    assert found.gap is not None
    assert found.gap.by_judge.difference.value == pytest.approx(0.4)
    assert found.gap.by_truth.difference.value == pytest.approx(0.0)
    specificity = found.equal[1]
    assert specificity.p is not None
    assert specificity.p < 0.05
    assert found == calibrate(reversed(pairs))


def test_three_arms_have_no_single_gap() -> None:
    found = calibrate(table("a", 5, 5, 5, 5) + table("b", 5, 5, 5, 5) + table("c", 5, 5, 5, 5))
    assert [arm for arm, _ in found.arms] == ["a", "b", "c"]
    assert found.gap is None
    assert len(found.equal) == 2


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


def test_a_judge_against_itself_counts_what_changed_and_keeps_the_shift_apart() -> None:
    grades = [grade_of(f"a-{i}", n, graded(bool((i + n * (i == 3)) % 2))) for i in range(8) for n in (0, 1)]
    grades.append(grade_of("once", 0, graded(True)))
    grades += [grade_of("unclear", 0, graded(None)), grade_of("unclear", 1, graded(True))]
    twice = list(graded_twice(reversed(grades)))
    assert [attempt for attempt, _, _ in twice] == [f"a-{i}" for i in range(8)]
    found = repeatability((f"t{i % 4}", a, b) for i, (_, a, b) in enumerate(twice))
    assert found is not None
    assert (found.attempts, found.changed) == (8, 1)
    assert found.noise.shift is not None
    assert found.noise.shift.value == pytest.approx(-1 / 8)
    assert found.noise.variance == pytest.approx(1 / 16)
    moved = repeatability((f"t{i % 2}", 0.0, 1.0) for i in range(6))
    assert moved is not None
    assert (moved.changed, moved.noise.variance, moved.noise.shift.value) == (6, 0.0, 1.0)
    assert repeatability(()) is None


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
