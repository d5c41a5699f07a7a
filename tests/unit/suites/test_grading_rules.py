"""Rewards, reports, answers and facts: the pure rules by which an outcome passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.facts import is_told
from suites.grading import Verdict, no_verdict
from suites.normalise import Rule, same
from suites.reports import (
    Report,
    ReportError,
    judge_pytest,
    judge_report,
    parse_pytest_summary,
    parse_report,
)
from suites.rewards import (
    RewardError,
    combine_step_verdicts,
    judge_rewards,
    meets_minimum,
    parse_reward_json,
    parse_reward_text,
)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[]", b"{}", b"1", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}', b'{"a": true}'),
        *(b'{"a": "1"}', b'{"a": {"b": 1}}', b'{"a": null}', b'{"a": 1, "a": 0}', b"{", b"\xff"),
        *(b"[" * 100_000, b'{"a": 1' + b"0" * 400 + b"}"),
    ],
)
def test_a_malformed_reward_json_is_an_error(data: bytes) -> None:
    with pytest.raises(RewardError):
        parse_reward_json(data)


@pytest.mark.parametrize("data", [b"", b" \n", b"nan", b"inf", b"-inf", b"one", b"1 2", b"1_0", b"1e999", b"\xff"])
def test_a_malformed_reward_txt_is_an_error(data: bytes) -> None:
    with pytest.raises(RewardError):
        parse_reward_text(data)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_a_reward(number: float) -> None:
    assert parse_reward_text(repr(number).encode()) == {"reward": number}


@pytest.mark.parametrize(
    ("rewards", "keys", "passed"),
    [
        ({"reward": 1}, (), True),
        ({"reward": 0.999}, (), False),
        ({"reward": 1, "speed": 0.5}, (), True),
        ({"a": 1, "b": 1}, (), True),
        ({"a": 1, "b": 0}, (), False),
        ({"reward": 0, "a": 1}, ("a",), True),
        ({"reward": 2}, (), False),
    ],
)
def test_what_decides(rewards: dict[str, float], keys: tuple[str, ...], passed: bool) -> None:
    assert judge_rewards(rewards, keys).passed is passed


def test_a_declared_key_that_is_missing_is_no_verdict() -> None:
    assert judge_rewards({"a": 1}, ("b",)).error_kind == "missing"


def test_steps_are_combined_with_missing_as_zero() -> None:
    one = Verdict(True, 1.0, {"reward": 1.0, "speed": 0.5})
    mean = combine_step_verdicts("mean", [one], planned=2)
    assert (mean.passed, mean.rewards) == (False, {"reward": 0.5, "speed": 0.25})
    assert combine_step_verdicts("mean", [one, one], planned=2).passed is True
    assert combine_step_verdicts("final", [one], planned=2).passed is False
    failed = Verdict(False, 0.0, {"reward": 0.0})
    assert combine_step_verdicts("final", [failed, one], planned=2).passed is True
    assert combine_step_verdicts("mean", [one, no_verdict("reward", "missing", "m")], planned=2).error_kind == "missing"


def test_the_minimum_of_a_step() -> None:
    verdict = Verdict(False, 0.5, {"reward": 0.5, "a": 1.0})
    assert meets_minimum(verdict, None)
    assert meets_minimum(verdict, 0.5)
    assert not meets_minimum(verdict, 0.6)
    assert meets_minimum(verdict, {"a": 1})
    assert not meets_minimum(verdict, {"b": 0})
    assert not meets_minimum(no_verdict("reward", "missing", "m"), None)


GOOD = Report({"f": "passed", "p": "passed"}, "failed")


@pytest.mark.parametrize(
    ("report", "passed", "flags"),
    [
        (GOOD, True, ()),
        (Report({"f": "failed", "p": "passed"}, "failed"), False, ()),
        (Report({"f": "passed", "p": "error"}, "failed"), False, ()),
        (Report({"f": "passed"}, "failed"), False, ("tests_missing", "tests_miscounted")),
        (Report({**GOOD.tests, "x": "passed"}, "failed"), False, ("tests_miscounted",)),
        (Report(GOOD.tests, "passed"), False, ("canary_passed",)),
        (Report(GOOD.tests, "missing"), False, ("canary_missing",)),
        (Report({"f": "error", "p": "error"}, "missing"), False, ()),
    ],
)
def test_a_report_is_judged_by_declared_names_number_and_canary(
    report: Report, passed: bool, flags: tuple[str, ...]
) -> None:
    verdict = judge_report(report, ["f"], ["p"])
    assert (verdict.passed, verdict.flags) == (passed, flags)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"tests": []}', b'{"tests": {"a": "good"}}', b'{"tests": {"a": 1}}'])
def test_a_malformed_report_is_an_error(data: bytes) -> None:
    with pytest.raises(ReportError):
        parse_report(data)


def test_the_legacy_verdict_is_every_parsed_test_passed() -> None:
    text = "noise\n=== short test summary info ===\nPASSED tests/a.py::one\nFAILED tests/a.py::two - AssertionError\n"
    tests = parse_pytest_summary(text)
    assert tests == {"tests/a.py::one": "passed", "tests/a.py::two": "failed"}
    assert judge_pytest(tests).passed is False
    assert judge_pytest({"a": "passed"}).passed is True
    with pytest.raises(ReportError):
        parse_pytest_summary("no summary")


@pytest.mark.parametrize(
    ("answer", "expected", "rule", "right"),
    [
        ("3", "3", Rule("number"), True),
        ("-3", "3", Rule("number"), False),
        ("\u22123", "-3", Rule("number"), True),
        ("1,234.50", "1234.5", Rule("number"), True),
        ("1 234", 1234, Rule("number"), True),
        ("12,34", "1234", Rule("number"), False),
        ("1.234,5", "1234.5", Rule("number"), False),
        ("about 3", "3", Rule("number"), False),
        ("3 or 4", "3", Rule("number"), False),
        ("nan", "3", Rule("number"), False),
        ("12 km", "12", Rule("number", unit="km"), True),
        ("12 m", "12", Rule("number", unit="km"), False),
        ("$1,200", "1200", Rule("number", unit="$"), True),
        ("-$5", "-5", Rule("number", unit="$"), True),
        ("3.14", "3.141", Rule("number", tolerance=0.01), True),
        ("3.16", "3.141", Rule("number", tolerance=0.01), False),
        ("Final answer:  The  Arn.", "the arn", Rule(), True),
        ("Arn", "the Arn", Rule(), False),
        ("-3", "3", Rule(), False),
        ('"Arn"', "Arn", Rule(), True),
        ("arn", "Arn", Rule(keep_case=True), False),
        ("1 March 2026", "2026-03-01", Rule("date"), True),
        ("Mar 1st, 2026", "2026-03-01", Rule("date"), True),
        ("2026/3/1", "2026-03-01", Rule("date"), True),
        ("03/01/2026", "2026-03-01", Rule("date"), False),
        ("2026-02-30", "2026-02-28", Rule("date"), False),
        ("a, b", ["a", "b"], Rule("list"), True),
        ("b, a", ["a", "b"], Rule("list"), False),
        ("b\na", ["a", "b"], Rule("set"), True),
        ("[a; b]", ["a", "b"], Rule("set", separator=";"), True),
        ("a, a, b", ["a", "b"], Rule("set"), False),
        ("a, a", ["a", "b"], Rule("set"), False),
        ("1,000; 2", ["1000", "2"], Rule("list", item="number", separator=";"), True),
        ("", ["a"], Rule("set"), False),
    ],
)
def test_when_two_writings_are_one_answer(answer: str, expected: object, rule: Rule, right: bool) -> None:
    assert same(answer, expected, rule) is right


@pytest.mark.parametrize(
    ("fact", "said", "told"),
    [
        ("1250", "That is 1,250.00 crowns.", True),
        ("1250", "That is 12500 crowns.", False),
        ("1250", "That is -1250 crowns.", False),
        ("1250", "That is 1250.5 crowns.", False),
        ("not refundable", "It is NOT\n refundable, sorry", True),
        ("fund", "refundable", False),
        ("3", "room 13", False),
    ],
)
def test_when_a_fact_was_told(fact: str, said: str, told: bool) -> None:
    assert is_told([fact], said) is told
