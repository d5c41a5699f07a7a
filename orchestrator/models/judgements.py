"""Grades given afterwards, kept beside the rows they are about: one small file each, keyed by attempt id.

    judgements/<digest of the judge's version>/<attempt id>.<n>.json

A grade is written once; grading again with the same judge only adds what is missing. Knows no storage: it
is given functions to read and write.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from orchestrator.models.judge import Graded
from orchestrator.models.transcript import Event, render

_WORDS = {"1": True, "true": True, "pass": True, "yes": True, "0": False, "false": False, "fail": False, "no": False}


class JudgementError(ValueError):
    """Grades or labels that cannot be used; the message is what a person reads."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The n-th grade of one attempt by one judge. `passed` None: the verdict was not readable."""

    attempt_id: str
    judge_version: str
    n: int
    passed: bool | None
    score: float | None
    verdict: str
    cost_usd: float | None
    text: str = ""

    @property
    def name(self) -> str:
        return f"{folder_of(self.judge_version)}/{self.attempt_id}.{self.n}.json"

    def data(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode()


def folder_of(version: str) -> str:
    """Where a judge's grades are."""
    return f"judgements/{hashlib.sha256(version.encode()).hexdigest()[:16]}"


def grade_of(attempt_id: str, n: int, graded: Graded) -> Grade:
    said = graded.judgement
    return Grade(
        attempt_id, graded.version, n, said.passed, said.score, said.verdict, graded.cost_usd, graded.text[:20_000]
    )


def parse_grade(data: bytes) -> Grade:
    """Raises JudgementError for a file that is no grade."""
    try:
        return Grade(**json.loads(data))
    except (ValueError, TypeError) as error:
        raise JudgementError(f"not a grade: {error}") from None


def material(events: Iterable[Event]) -> tuple[str, str]:
    """(instruction, what the agent said and did) for a judge: nothing of the arm, nothing of the harness."""
    listed = [event for event in events if event.role not in ("harness", "system")]
    instruction = next((event.content for event in listed if event.role == "user"), "")
    rest = [event for event in listed if event.role != "user" or event.name == "simulated_user"]
    return instruction, "\n".join(render(rest, 8000))


def first_grades(grades: Iterable[Grade]) -> dict[str, Grade]:
    """The first grade of each attempt."""
    return {grade.attempt_id: grade for grade in sorted(grades, key=lambda g: (g.attempt_id, -g.n))}


def graded_twice(grades: Iterable[Grade]) -> Iterator[tuple[str, float, float]]:
    """(attempt, first score, second score), 0 to 1, of attempts with two readable grades or more."""
    scores: dict[str, list[float]] = {}
    for grade in sorted(grades, key=lambda g: (g.attempt_id, g.n)):
        if grade.score is not None:
            scores.setdefault(grade.attempt_id, []).append(grade.score)
    for attempt, (first, *more) in scores.items():
        if more:
            yield attempt, first, more[0]


def pairs(grades: Mapping[str, Grade], labels: Mapping[str, bool]) -> Iterator[tuple[str, bool, bool]]:
    """(attempt, what the judge says, what is known) where both are there."""
    for attempt, known in labels.items():
        grade = grades.get(attempt)
        if grade is not None and grade.passed is not None:
            yield attempt, grade.passed, known


def parse_labels(text: str, source: str) -> dict[str, bool]:
    """A CSV with the columns attempt_id and passed (1/0, true/false, pass/fail, yes/no). Raises JudgementError."""
    labels: dict[str, bool] = {}
    reader = csv.DictReader(io.StringIO(text))
    if not {"attempt_id", "passed"} <= set(reader.fieldnames or ()):
        raise JudgementError(f"{source}: needs the columns attempt_id and passed; found {reader.fieldnames}")
    for row in reader:
        said = str(row["passed"]).strip().lower()
        if said not in _WORDS:
            raise JudgementError(f"{source}:{reader.line_num}: passed is {said!r}; use 1 or 0")
        if labels.setdefault(str(row["attempt_id"]).strip(), _WORDS[said]) != _WORDS[said]:
            raise JudgementError(f"{source}:{reader.line_num}: {row['attempt_id']} has two different labels")
    return labels
