"""Tables of printed figures alone, pass^1..pass^n or pass@1..pass@n of an arm: which counts can print so.

Where exactly one histogram of passes prints as the figures, its trials are rows; which task had which count nobody
knows, so the tasks are named after the arm and can be paired with no other. All else is refused with the reason.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Literal

from orchestrator.analysis.importers.base import Options, Refused, Trial, UnreadableImportError, finite, moment, whole
from orchestrator.analysis.importers.records import records
from orchestrator.core.status import Status
from orchestrator.stats.grim import Inversion, invert_pass_at, invert_pass_hat, prints

Kind = Literal["pass^", "pass@"]
_FIGURE = re.compile(r"pass(?P<sign>\^|_hat_|_\^|_|@|_at_)(?P<k>[1-9][0-9]*)", re.IGNORECASE)
_SYNONYMS = {
    "tasks": ("tasks", "n_tasks", "num_tasks", "problems"),
    "trials": ("trials", "n_trials", "num_trials", "repeats", "n"),
    "agent": ("agent", "submission", "system", "model"),
    "suite": ("suite", "benchmark", "domain", "dataset"),
    "day": ("started_at", "evaluation_date", "date"),
}
MAX_TRIALS = 1_000_000
FLAG = "inverted_from_figures"


class Figures:
    """One arm per row: its figures, how many tasks they are over and how many trials each task had."""

    name = "figures"

    def recognises(self, path: Path) -> bool:
        if not path.is_file() or path.suffix not in (".csv", ".tsv", ".jsonl", ".parquet"):
            return False
        try:
            first = next(records(path), None)
        except UnreadableImportError:
            return False
        return isinstance(first, Mapping) and bool(_figures(first)) and not {"task", "task_id"} & set(first)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """`--map tasks=50` gives a number where the table has no such column."""
        scale = _scale(path)
        for number, record in enumerate(records(path), start=1):
            source = f"{path.name}:{number}"
            if isinstance(record, Refused):
                yield record
                continue
            arm = _arm(record, source, options)
            yield from [arm] if isinstance(arm, Refused) else _trials(arm, scale)


@dataclass(frozen=True, slots=True)
class _Arm:
    source: str
    agent: str
    suite: str
    tasks: int
    trials: int
    kind: Kind
    printed: Mapping[int, str]
    day: object

    @property
    def label(self) -> str:
        return f"{self.kind}k of {self.tasks} tasks with {_counted(self.trials)}"


def _figures(record: Mapping[str, object]) -> dict[tuple[Kind, int], str]:
    """Name and k of each figure of a row that is there, as it is printed."""
    found: dict[tuple[Kind, int], str] = {}
    for name, value in record.items():
        match = _FIGURE.fullmatch(str(name))
        if match and str(value if value is not None else "").strip():
            kind: Kind = "pass@" if match["sign"] in ("@", "_at_") else "pass^"
            found[kind, int(match["k"])] = str(value).strip()
    return found


def _scale(path: Path) -> int:
    """100 where any figure of the whole table is a percentage, else 1."""
    for record in records(path):
        if isinstance(record, Mapping):
            for text in _figures(record).values():
                if "%" in text or (finite(text) or 0.0) > 1.0:
                    return 100
    return 1


def _arm(record: Mapping[str, object], source: str, options: Options) -> _Arm | Refused:
    told = {meaning: _told(meaning, record, options) for meaning in _SYNONYMS}
    figures = _figures(record)
    if not figures:
        return Refused(source, "the row has no figure")
    wrong = next((text for text in figures.values() if finite(text.rstrip("%")) is None), None)
    if wrong is not None:
        return Refused(source, f"the figure {wrong!r} is no finite number")
    for meaning in ("tasks", "trials"):
        if (whole(told[meaning]) or 0) < 1:
            return Refused(source, f"the row does not tell how many {meaning}; name the column or give the number: "
                                   f"--map {meaning}=N")  # fmt: skip
    if (whole(told["tasks"]) or 0) * (whole(told["trials"]) or 0) > MAX_TRIALS:
        return Refused(source, f"{told['tasks']} tasks with {told['trials']} trials are more than {MAX_TRIALS} trials")
    kind: Kind = "pass^" if ("pass^", max(k for _, k in figures)) in figures else "pass@"
    printed = {k: text for (other, k), text in figures.items() if other == kind}
    return _Arm(
        source, str(told["agent"] or "unknown"), str(told["suite"] or "imported"), whole(told["tasks"]) or 0,
        whole(told["trials"]) or 0, kind, printed, told["day"],
    )  # fmt: skip


def _told(meaning: str, record: Mapping[str, object], options: Options) -> object:
    asked = options.mapping.get(meaning)
    if asked is not None:
        return record.get(asked, asked if asked.isdecimal() else None)
    return next((record[name] for name in _SYNONYMS[meaning] if name in record), None)


def _trials(arm: _Arm, scale: int) -> Iterator[Trial | Refused]:
    reason = _impossible(arm, scale)
    inversion = None if reason else _inverted(arm, scale)
    if reason is None and inversion is None:
        told = ", ".join(f"{arm.kind}{k}" for k in sorted(arm.printed))
        reason = f"{told} alone does not tell how often each of {arm.tasks} tasks with {_counted(arm.trials)} passed"
    elif inversion is not None and not inversion.attainable:
        reason = str(inversion.reason).rstrip(".")
    elif inversion is not None and not inversion.unique:
        reason = f"more than one set of counts prints as these figures ({arm.label}): give more decimals"
    if reason is not None or inversion is None:
        yield Refused(arm.source, str(reason))
        return
    (histogram,) = inversion.histograms
    counts = [passed for passed, tasks in enumerate(histogram) for _ in range(tasks)]
    for number, passed in enumerate(counts, start=1):
        for repeat in range(arm.trials):
            status = Status.PASSED if repeat < passed else Status.FAILED
            yield Trial(
                arm.source, arm.suite, arm.agent, f"{arm.agent}: unknown task {number}", status,
                float(status is Status.PASSED), repeat=repeat, started_at=moment(arm.day), known={"flags": [FLAG]},
            )  # fmt: skip


def _impossible(arm: _Arm, scale: int) -> str | None:
    """GRIM: each figure is a whole count over T C(n, k)."""
    for k, text in sorted(arm.printed.items()):
        if k > arm.trials:
            return f"{arm.kind}{k} is printed for {_counted(arm.trials)} of a task, of which it cannot be computed"
        if not prints(text, arm.tasks * comb(arm.trials, k), scale=scale):
            return f"no counts of {arm.tasks} tasks with {_counted(arm.trials)} print as {arm.kind}{k} = {text}"
    return None


def _inverted(arm: _Arm, scale: int) -> Inversion | None:
    """The histograms that print so; None where figures for some k up to n are not told."""
    if sorted(arm.printed) != list(range(1, arm.trials + 1)):
        return None
    printed = tuple(arm.printed[k] for k in sorted(arm.printed))
    invert = invert_pass_hat if arm.kind == "pass^" else invert_pass_at
    return invert(printed, arm.tasks, scale=scale, limit=1)


def _counted(trials: int) -> str:
    return f"{trials} trial{'s' * (trials != 1)}"
