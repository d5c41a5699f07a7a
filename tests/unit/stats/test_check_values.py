"""Every independently computed check value, put to the statistics; none passes unasked."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.stats import check_values_comparisons, check_values_one_arm

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "data" / "check_values.json").read_text())
TABLES = (check_values_one_arm, check_values_comparisons)
CHECKS = {name: check for table in TABLES for name, check in table.CHECKS.items()}
SKIPPED = {name: reason for table in TABLES for name, reason in table.SKIPPED.items()}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_check_value(case: dict[str, Any]) -> None:
    check = CHECKS.get(case["id"]) or CHECKS.get(case["group"])
    if check is None:
        assert SKIPPED.get(case["id"]), f"No check for {case['id']} of group {case['group']}, and no reason why."
        pytest.skip(SKIPPED[case["id"]])
    check(case)


def test_all_values_are_there_and_none_is_both_checked_and_skipped() -> None:
    ids = [case["id"] for case in CASES]
    known = {*ids, *(case["group"] for case in CASES)}
    assert len(ids) == len(set(ids)) == 132
    assert set(CHECKS) <= known
    assert set(SKIPPED) <= set(ids)
    assert not set(CHECKS) & set(SKIPPED)
    assert all(len(reason) > 20 for reason in SKIPPED.values())


def test_no_name_is_claimed_by_two_tables() -> None:
    assert not set(check_values_one_arm.CHECKS) & set(check_values_comparisons.CHECKS)
