"""Reports of single tests: judged by the declared names, the number of tests and the canary. Pure.

What ran in the container says how each test ended; whether that passes is decided here. Whatever an agent
could have caused (a missing test, a patched runner) is a failure with a flag, never an error of the grader.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suites.grading import Verdict

MAX_REPORT_BYTES = 4_000_000
STATES = ("passed", "failed", "error", "skipped")
SUMMARY_LINE = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\s+(.+?)(?:\s+-\s.*)?$")


class ReportError(ValueError):
    """Why a report says nothing."""


@dataclass(frozen=True, slots=True)
class Report:
    """How each test ended, and how the test that must fail did ("failed", "passed" or "missing")."""

    tests: Mapping[str, str]
    canary: str = "missing"


def parse_report(data: bytes) -> Report:
    """report.json: {"tests": {name: state}, "canary": state}."""
    try:
        parsed = json.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ReportError(f"the report is not readable: {error}") from error
    tests = parsed.get("tests") if isinstance(parsed, dict) else None
    if not isinstance(tests, dict):
        raise ReportError('the report has no object "tests"')
    wrong = next((name for name, state in tests.items() if state not in STATES), None)
    if wrong is not None:
        raise ReportError(f"the report says {str(tests[wrong])[:40]!r} of {wrong!r}: none of {', '.join(STATES)}")
    return Report(dict(tests), str(parsed.get("canary", "missing")))


def judge_report(
    report: Report,
    fail_to_pass: Sequence[str],
    pass_to_pass: Sequence[str] = (),
    canary: bool = True,
    count: int | None = None,
) -> Verdict:
    """Passed when every declared test passed, exactly these were run, and the canary failed."""
    declared = [*fail_to_pass, *pass_to_pass]
    passed = [name for name in declared if report.tests.get(name) == "passed"]
    missing = [name for name in declared if name not in report.tests]
    flags = []
    if missing:
        flags.append("tests_missing")
    if len(report.tests) != (count if count is not None else len(declared)):
        flags.append("tests_miscounted")
    if canary and report.canary == "passed":
        flags.append("canary_passed")
    elif canary and report.canary != "failed" and any(state == "passed" for state in report.tests.values()):
        flags.append("canary_missing")
    good = not flags and len(passed) == len(declared) and (not canary or report.canary == "failed")
    lines = [f"{len(passed)} of {len(declared)} tests passed"]
    lines += [f"{report.tests.get(name, 'missing')}: {name}" for name in declared if name not in passed]
    return Verdict(
        good,
        float(good),
        {"reward": float(good)},
        grader="tests",
        flags=tuple(flags),
        details="\n".join(lines),
    )


def parse_pytest_summary(text: str) -> dict[str, str]:
    """Test name -> state from pytest's "short test summary info" (as printed with -rA)."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if "short test summary info" in line]
    if not starts:
        raise ReportError("there is no 'short test summary info' in what the tests printed")
    found = {}
    for line in lines[starts[-1] + 1 :]:
        match = SUMMARY_LINE.match(line.strip())
        if match:
            state = {"PASSED": "passed", "XFAIL": "passed", "FAILED": "failed", "XPASS": "failed"}
            found[match.group(2)] = state.get(match.group(1), match.group(1).lower())
    if not found:
        raise ReportError("pytest's summary names no test")
    return found


def judge_pytest(tests: Mapping[str, str]) -> Verdict:
    """Passed when every test that pytest named passed (legacy Terminal-Bench)."""
    bad = [f"{state}: {name}" for name, state in tests.items() if state != "passed"]
    details = "\n".join([f"{len(tests) - len(bad)} of {len(tests)} tests passed", *bad])
    return Verdict(not bad, float(not bad), {"reward": float(not bad)}, grader="pytest", details=details)
