"""What every importer gives: trials with what is known of them, or refusals with a reason."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Protocol

from orchestrator.core.columns import COLUMNS, SCHEMA_VERSION
from orchestrator.core.status import Status

_KINDS = {column.name: column.type for column in COLUMNS}
_INT_END = 2**63
UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class UnreadableImportError(ValueError):
    """A file cannot be imported at all; the message says what was asked, what was found and what to do."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the person who imports knows better than the file. None: take it from the file.

    mapping: which column of a table tells what; for Inspect logs, `score` names the scorer, or scorer.key.
    """

    suite: str | None = None
    agent: str | None = None
    resources: str | None = None
    lane: str = "live"
    mapping: Mapping[str, str] = field(default_factory=dict)
    pass_at: float = 1.0


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that was not imported, and why. doubled: its trial has a row already."""

    where: str
    reason: str
    doubled: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt of a trial as a harness tells it. `known` holds further columns; what is absent is unknown.

    attempt, final: as in the columns of trials; a harness that tries again itself tells of earlier attempts.
    remark: one sentence on what is odd about it; the row is kept and the import says so.
    by_score: nothing told a pass or a failure but the score, against Options.pass_at.
    """

    source: str
    suite: str
    agent: str
    task: str
    status: Status
    score: float | None = None
    repeat: int | None = None
    sweep: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    known: Mapping[str, object] = field(default_factory=dict)
    attempt: int = 0
    final: bool = True
    remark: str | None = None
    by_score: bool = False


class Importer(Protocol):
    """One format. `recognises` looks at a path without reading all of it; `read` streams."""

    name: str

    def recognises(self, path: Path) -> bool: ...

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]: ...


class RowMaker:
    """Turns trials into rows: numbers repeats, makes keys, refuses a repeat that is there already.

    `suites` are the suites that the files name, in the order seen.
    """

    def __init__(self, harness: str, options: Options) -> None:
        self._harness = harness
        self._options = options
        self._next: Counter[tuple[str, str, str, str]] = Counter()
        self._seen: set[tuple[str, int]] = set()
        self.suites: dict[str, None] = {}

    def row(self, trial: Trial) -> dict[str, object] | Refused:
        """The row of a trial; a trial without a number gets the next one of its task and agent.

        Raises UnreadableImportError where one name was given for the suites of several.
        """
        self.suites[trial.suite] = None
        if self._options.suite is not None and len(self.suites) > 1:
            raise UnreadableImportError(
                f"The suite name {self._options.suite!r} was given for all trials, but they are of the suites "
                f"{' and '.join(self.suites)}: import each by itself, or leave --suite out to keep their names."
            )
        agent = self._options.agent or _text(trial.agent)
        suite = self._options.suite or _text(trial.suite)
        task, sweep = _text(trial.task), _text(trial.sweep or f"import-{self._harness}")
        resources = self._options.resources or _text(trial.known.get("resources") or "unknown")
        group = (suite, agent, resources, task)
        repeat = trial.repeat if trial.repeat is not None else self._next[group]
        if repeat < 0:
            return Refused(trial.source, f"{repeat} is no number of a repeat of task {task}")
        arm = f"{agent}/{resources}/{self._options.lane}"
        text = "\0".join((sweep, suite, task, arm, "0", str(repeat)))
        key = hashlib.sha256(text.encode()).hexdigest()[:20]
        if (key, trial.attempt) in self._seen:
            return Refused(trial.source, f"task {task} repeat {repeat} of {agent} is there already", doubled=True)
        self._seen.add((key, trial.attempt))
        self._next[group] = repeat + int(trial.final)
        started = trial.started_at or UNKNOWN_TIME
        finished = trial.finished_at or started
        verdict = trial.status.has_verdict
        row: dict[str, object] = {
            "schema_version": SCHEMA_VERSION,
            "sweep": sweep,
            "suite": suite,
            "task": task,
            "agent": agent,
            "resources": resources,
            "lane": self._options.lane,
            "arm": arm,
            "wave": 0,
            "day": started.astimezone(UTC).date(),
            "repeat": repeat,
            "attempt": trial.attempt,
            "final": trial.final,
            "trial_key": key,
            "attempt_id": f"{key}-{trial.attempt}",
            "imported_from": _text(f"{self._harness}: {trial.source}"),
            "status": str(trial.status),
            "origin": str(trial.status.origin),
            "passed": trial.status is Status.PASSED if verdict else None,
            "score": trial.score if verdict else None,
            "suspect": False,
            "started_at": started,
            "finished_at": finished,
            "total_s": (finished - started).total_seconds() if trial.started_at and trial.finished_at else None,
        }
        extra = {name: fitted(_KINDS[name], value) for name, value in trial.known.items() if name not in row}
        flags = list(extra.get("flags") or ())  # type: ignore[call-overload]
        if trial.started_at is None:
            flags.append("unknown_time")
        return {**row, **extra, "flags": flags or None}


def finite(value: object) -> float | None:
    """A number that can be counted with; None for anything else, so that NaN never becomes a score."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        try:
            return finite(float(value))
        except ValueError:
            return None
    return None


def whole(value: object) -> int | None:
    """An integer that a column of 64 bits holds, or None."""
    number = finite(value)
    if number is None or number != int(number) or abs(number) >= _INT_END:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else int(number)


def moment(value: object) -> datetime | None:
    """A time in UTC; one without a zone is taken as UTC. Seconds since 1970 are accepted. None for what is none."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if not isinstance(value, str):
            return None
        found = datetime.fromisoformat(value)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def fitted(kind: str, value: object) -> object:
    """What a value is in a column of a type; None where it is nothing such a column can hold.

    Text that is no valid Unicode, as half of a pair in JSON, keeps a question mark in the place of what is none.
    """
    if kind == "string":
        return _text(value) if isinstance(value, str | int | float) else None
    if kind == "int":
        return whole(value)
    if kind == "float":
        return finite(value)
    if kind == "strings" and isinstance(value, list | tuple):
        return [_text(item) for item in value if isinstance(item, str)]
    if kind == "map" and isinstance(value, Mapping):
        numbers = {_text(name): finite(number) for name, number in value.items()}
        return {name: number for name, number in numbers.items() if number is not None} or None
    return value if isinstance(value, {"bool": bool, "time": datetime, "day": date}.get(kind, ())) else None


def _text(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode("utf-8")


def load_json(path: Path) -> object:
    """A whole JSON file. Raises UnreadableImportError with a sentence for a truncated one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise UnreadableImportError(
            f"{path} was asked for as JSON, but cannot be read ({error}): it may be cut off."
        ) from None


def mapping(value: object) -> Mapping[str, object]:
    """A JSON object, or an empty one in the place of anything else."""
    return value if isinstance(value, Mapping) else {}


def first_line(path: Path) -> str:
    """The first line of a text file, or nothing where it is not text."""
    try:
        with path.open(encoding="utf-8") as stream:
            return stream.readline(1 << 20)
    except (OSError, UnicodeDecodeError):
        return ""


def head(path: Path) -> str:
    """The first 64 kB of a file of JSON, to recognise it by; nothing for another file."""
    if not path.is_file() or path.suffix not in (".json", ".jsonl"):
        return ""
    with path.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(1 << 16)


def holds(path: Path, word: str, within: int | None = None) -> bool:
    """Whether a file holds a word, in its first characters or anywhere; read piece by piece."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as stream:
        read, end = 0, ""
        while (within is None or read < within) and (piece := stream.read(1 << 20)):
            if word in end + piece:
                return True
            read, end = read + len(piece), piece[-len(word) :]
    return False


def graded(score: float | None, pass_at: float = 1.0) -> Status:
    """PASSED, FAILED, or GRADER_ERROR where the harness gives no number."""
    if score is None:
        return Status.GRADER_ERROR
    return Status.PASSED if score >= pass_at - 1e-6 else Status.FAILED
