"""An exact answer judged under its declared normalisation. Pure."""

from suites.grader_settings import ExactSettings
from suites.grading import Verdict
from suites.normalise import same

SHOWN_CHARS = 400


def judge_answer(answer: str, wanted: ExactSettings) -> Verdict:
    """Passed when the answer, as a whole, is the expected one; an answer among other words is none."""
    passed = same(answer, wanted.expected, wanted.rule)
    details = f"answer: {answer.strip()[:SHOWN_CHARS]!r}"
    return Verdict(passed, float(passed), {"reward": float(passed)}, grader="exact", details=details)
