"""CSV, JSONL and Parquet tables: one trial per row, or counts (n, c) per row, by a mapping of columns."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.importers.base import Options, Refused, Trial, UnreadableImportError, finite, moment, whole
from orchestrator.analysis.importers.records import records
from orchestrator.core.columns import COLUMNS
from orchestrator.core.status import Status
from orchestrator.stats.grim import grim

_KNOWN = {column.name: column.type for column in COLUMNS}
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "task": ("task", "task_id", "instance_id", "id", "problem"),
    "repeat": ("repeat", "trial", "epoch", "seed", "run", "sample"),
    "passed": ("passed", "success", "pass", "correct", "resolved", "solved"),
    "score": ("score", "reward"),
    "n": ("n", "trials", "samples"),
    "rate": ("rate", "mean", "pass_rate", "success_rate", "accuracy", "pass@1", "pass^1"),
    "c": ("c", "passes", "successes", "num_correct"),
    "agent": ("agent", "model", "system", "submission"),
    "suite": ("suite", "benchmark", "domain", "dataset"),
    "resources": ("resources",),
    "cost_usd": ("cost_usd", "cost", "agent_cost", "total_cost_usd"),
    "started_at": ("started_at", "created_at", "ts", "timestamp"),
    "status": ("status",),
}
MAX_TRIALS = 1_000_000
_TRUE = frozenset({"1", "true", "yes", "pass", "passed", "1.0", "c"})
_FALSE = frozenset({"0", "false", "no", "fail", "failed", "0.0", "i"})


class Table:
    """Any table with a task and an outcome; columns of trials by their own names are taken over."""

    name = "table"

    def recognises(self, path: Path) -> bool:
        return path.is_file() and path.suffix in (".csv", ".tsv", ".jsonl", ".parquet")

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        columns: dict[str, str] | None = None
        scale = 1
        for number, record in enumerate(records(path), start=1):
            if isinstance(record, Refused):
                yield record
                continue
            if columns is None:
                columns = find_columns(list(record), options.mapping, path)
                scale = _scale(path, columns)
            source = f"{path.name}:{number}"
            told = {meaning: record.get(column) for meaning, column in columns.items()}
            if told["task"] in (None, ""):
                yield Refused(source, "the row names no task")
            elif "n" in told and {"c", "rate"} & set(told) and not {"passed", "score", "status"} & set(told):
                yield from _counted(told, record, columns, source, scale)
            else:
                yield _single(told, record, columns, source, options)


def _scale(path: Path, columns: Mapping[str, str]) -> int:
    """100 where any rate of the whole table is above 1: then all are percentages, also one of 0.5."""
    if "rate" not in columns:
        return 1
    told = (record.get(columns["rate"]) for record in records(path) if isinstance(record, Mapping))
    percent = any("%" in str(value) or (finite(str(value)) or 0.0) > 1 for value in told)
    return 100 if percent else 1


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
    told = set(found)
    if {"n", "score"} <= told and not {"c", "rate", "passed", "status"} & told and "score" not in asked:
        raise UnreadableImportError(
            f"{path} has {found['n']!r} and {found['score']!r}: say whether the score is a mean over the trials (--map "
            f"rate={found['score']}) or that of one trial (--map score={found['score']})."
        )
    if "task" not in told or not ({"passed", "score", "status"} & told or {"n", "c"} <= told or {"n", "rate"} <= told):
        raise UnreadableImportError(
            f"{path} has the columns {', '.join(present)}: none tells the task and none the outcome (success, score, "
            "or n and c); name them with --map task=COLUMN --map passed=COLUMN."
        )
    return found


def _counted(
    told: Mapping[str, object], record: Mapping[str, object], columns: Mapping[str, str], source: str, scale: int
) -> Iterator[Trial | Refused]:
    """The trials of a row that tells n and how many of them passed."""
    n = whole(told["n"])
    if n is not None and n > MAX_TRIALS:
        yield Refused(source, f"n is {told['n']!r}: more than {MAX_TRIALS} trials of one task")
        return
    if n == 0:
        yield Refused(source, f"task {told['task']} has n = 0: a task without trials tells nothing")
        return
    c = whole(told["c"]) if "c" in told else _passes(n, str(told["rate"]).strip(), scale)
    if isinstance(c, str):
        yield Refused(source, c)
    elif n is None or c is None or not 0 <= c <= n:
        yield Refused(source, f"n is {told['n']!r} and c is {told.get('c')!r}: 0 <= c <= n must hold")
    else:
        for number in range(n):
            status = Status.PASSED if number < c else Status.FAILED
            yield _trial(told, record, columns, source, status, float(number < c), number)


def _passes(n: int | None, printed: str, scale: int) -> int | str:
    """The only whole count of n that prints as the rate (GRIM), else a sentence."""
    if n is None or n < 1 or finite(printed.rstrip("%")) is None:
        return f"the rate is {printed!r} and n is {n}: both must be numbers"
    found = grim(printed, n, scale=scale)
    if not found.possible:
        return f"the rate {printed} cannot be that of {n} trials: no whole count of passes prints so"
    if len(found.counts) > 1:
        least, most = found.counts[0], found.counts[-1]
        return f"the rate {printed} of {n} trials may be {least} to {most} passes: give more decimals, or the counts"
    return found.counts[0]


def _single(
    told: Mapping[str, object], record: Mapping[str, object], columns: Mapping[str, str], source: str, options: Options
) -> Trial | Refused:
    """The trial of a row that tells its outcome."""
    outcome = _outcome(told, options)
    if isinstance(outcome, str):
        return Refused(source, outcome)
    silent = told.get("status") in (None, "") and told.get("passed") in (None, "") and outcome[1] is not None
    found = _trial(told, record, columns, source, outcome[0], outcome[1], whole(told.get("repeat")))
    return replace(found, by_score=silent)


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
