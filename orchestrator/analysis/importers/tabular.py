"""CSV, JSONL and Parquet tables: one trial per row, or counts (n, c) per row, by a mapping of columns."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.analysis.importers.base import Options, Refused, Trial, UnreadableImportError, finite, moment, whole
from orchestrator.core.columns import COLUMNS
from orchestrator.core.status import Status

_KNOWN = {column.name: column.type for column in COLUMNS}
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "task": ("task", "task_id", "instance_id", "id", "problem"),
    "repeat": ("repeat", "trial", "epoch", "seed", "run", "sample"),
    "passed": ("passed", "success", "pass", "correct", "resolved", "solved"),
    "score": ("score", "reward"),
    "n": ("n", "trials", "samples"),
    "c": ("c", "passes", "successes", "num_correct"),
    "agent": ("agent", "model", "system", "submission"),
    "suite": ("suite", "benchmark", "domain", "dataset"),
    "resources": ("resources",),
    "cost_usd": ("cost_usd", "cost", "agent_cost", "total_cost_usd"),
    "started_at": ("started_at", "created_at", "ts", "timestamp"),
    "status": ("status",),
}
_TRUE = frozenset({"1", "true", "yes", "pass", "passed", "1.0", "c"})
_FALSE = frozenset({"0", "false", "no", "fail", "failed", "0.0", "i"})


class Table:
    """Any table with a task and an outcome; columns of trials by their own names are taken over."""

    name = "table"

    def recognises(self, path: Path) -> bool:
        return path.is_file() and path.suffix in (".csv", ".tsv", ".jsonl", ".parquet")

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        columns: dict[str, str] | None = None
        for number, record in enumerate(_records(path), start=1):
            if isinstance(record, Refused):
                yield record
                continue
            if columns is None:
                columns = find_columns(list(record), options.mapping, path)
            yield from _trials(record, columns, f"{path.name}:{number}", options)


def find_columns(present: list[str], asked: Mapping[str, str], path: Path) -> dict[str, str]:
    """Which column of the table tells what: by the mapping given, else by its name."""
    for meaning, column in asked.items():
        if column not in present:
            raise UnreadableImportError(
                f"{path}: the mapping takes {meaning} from column {column!r}, but the columns are {', '.join(present)}."
            )
    found = dict(asked)
    for meaning, names in _SYNONYMS.items():
        if meaning not in found:
            match = next((name for name in names if name in present and name not in asked.values()), None)
            if match is not None:
                found[meaning] = match
    if "task" not in found or not ({"passed", "score", "status"} & set(found) or {"n", "c"} <= set(found)):
        raise UnreadableImportError(
            f"{path} has the columns {', '.join(present)}: none tells the task and none the outcome (success, score, "
            "or n and c); name them with --map task=COLUMN --map passed=COLUMN."
        )
    return found


def _records(path: Path) -> Iterator[Mapping[str, object] | Refused]:
    """Rows one by one. Raises UnreadableImportError where the file is no such table at all."""
    try:
        if path.suffix == ".parquet":
            for batch in pq.ParquetFile(path).iter_batches():
                yield from batch.to_pylist()
        elif path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield _json_line(line, f"{path.name}:{number}")
        else:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                reader = csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
                yield from (_csv_row(row, f"{path.name}:{reader.line_num}") for row in reader)
    except (pa.ArrowException, csv.Error, UnicodeDecodeError) as error:
        raise UnreadableImportError(
            f"{path} was asked for as a table, but cannot be read ({str(error).splitlines()[0]}): it may be cut off."
        ) from None


def _csv_row(row: dict[str | None, object], source: str) -> Mapping[str, object] | Refused:
    """A row with fewer or more fields than the header has columns is refused: its values may be anybody's."""
    if None in row or None in row.values():
        return Refused(source, "the row has another number of fields than the header: it may be cut off")
    return {str(name): value for name, value in row.items()}


def _json_line(line: str, source: str) -> Mapping[str, object] | Refused:
    try:
        record = json.loads(line)
    except ValueError as error:
        return Refused(source, f"the line is no JSON ({error}); it may be cut off")
    return record if isinstance(record, dict) else Refused(source, "the line is no JSON object")


def _trials(
    record: Mapping[str, object], columns: Mapping[str, str], source: str, options: Options
) -> Iterator[Trial | Refused]:
    told = {meaning: record.get(column) for meaning, column in columns.items()}
    if told["task"] in (None, ""):
        yield Refused(source, "the row names no task")
        return
    if {"n", "c"} <= set(columns) and not {"passed", "score", "status"} & set(columns):
        n, c = whole(told["n"]), whole(told["c"])
        if n is None or c is None or not 0 <= c <= n:
            yield Refused(source, f"n is {told['n']!r} and c is {told['c']!r}: 0 <= c <= n must hold")
            return
        for number in range(n):
            status = Status.PASSED if number < c else Status.FAILED
            yield _trial(told, record, columns, source, status, float(number < c), number)
        return
    outcome = _outcome(told, options)
    if isinstance(outcome, str):
        yield Refused(source, outcome)
        return
    repeat = whole(told.get("repeat"))
    yield _trial(told, record, columns, source, outcome[0], outcome[1], repeat)


def _outcome(told: Mapping[str, object], options: Options) -> tuple[Status, float | None] | str:
    score = finite(told.get("score"))
    if told.get("score") not in (None, "") and score is None:
        return f"the score is {told['score']!r}, which is no finite number"
    if told.get("status") not in (None, ""):
        try:
            return Status(str(told["status"]).upper()), score
        except ValueError:
            return f"the status {told['status']!r} is none of {', '.join(Status)}"
    word = str(told.get("passed")).strip().lower()
    if word in _TRUE:
        return Status.PASSED, score if score is not None else 1.0
    if word in _FALSE:
        return Status.FAILED, score if score is not None else 0.0
    if "passed" in told and told["passed"] not in (None, ""):
        return f"the outcome is {told['passed']!r}, which is neither a pass nor a failure"
    if score is None:
        return Status.GRADER_ERROR, None
    return (Status.PASSED if score >= options.pass_at - 1e-6 else Status.FAILED), score


def _trial(
    told: Mapping[str, object],
    record: Mapping[str, object],
    columns: Mapping[str, str],
    source: str,
    status: Status,
    score: float | None,
    repeat: int | None,
) -> Trial:
    known: dict[str, object] = {"cost_usd": finite(told.get("cost_usd")), "resources": told.get("resources")}
    for name, value in record.items():
        if name in _KNOWN and name not in columns.values() and value not in (None, ""):
            converted = _typed(_KNOWN[name], value)
            if converted is not None:
                known[name] = converted
    return Trial(
        source,
        str(told.get("suite") or "imported"),
        str(told.get("agent") or "unknown"),
        str(told["task"]),
        status,
        score,
        repeat=repeat,
        started_at=moment(told.get("started_at")),
        known=known,
    )


def _typed(kind: str, value: object) -> object:
    if kind == "string":
        return str(value)
    if kind == "int":
        return whole(value)
    if kind == "float":
        return finite(value)
    if kind == "bool":
        word = str(value).lower()
        return True if word in _TRUE else False if word in _FALSE else None
    return moment(value) if kind == "time" else None
