"""Importing one path: which format it is, rows into a results folder, and what could not be known."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from orchestrator.analysis.importers.base import Importer, Options, Refused, RowMaker, Trial, UnreadableImportError
from orchestrator.analysis.importers.claude_loop import ClaudeLoop
from orchestrator.analysis.importers.figures import Figures
from orchestrator.analysis.importers.harbor import Harbor
from orchestrator.analysis.importers.inspect_log import Inspect
from orchestrator.analysis.importers.promptfoo import Promptfoo
from orchestrator.analysis.importers.swe_bench import SweBench
from orchestrator.analysis.importers.tabular import Table
from orchestrator.analysis.importers.tau_bench import TauBench
from orchestrator.core.columns import NAMES
from orchestrator.storage.journal import Segment
from orchestrator.storage.root import Root
from orchestrator.storage.rows import RowError, check
from orchestrator.storage.store import write_parquet

IMPORTERS: tuple[Importer, ...] = (
    Harbor(),
    Inspect(),
    SweBench(),
    Promptfoo(),
    TauBench(),
    ClaudeLoop(),
    Figures(),
    Table(),
)
_ROWS_PER_FILE = 50_000


@dataclass(slots=True)
class ImportReport:
    """What an import did, or with a dry run would do.

    refused: records that gave no row. remarks: what is odd about rows that were made. Both lists are bounded.
    by_score: rows whose pass or failure is read off the score. doubled: refused records of a trial that was there.
    """

    format: str
    rows: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    refused: list[Refused] = field(default_factory=list)
    refused_count: int = 0
    remarks: list[Refused] = field(default_factory=list)
    remarks_count: int = 0
    by_score: int = 0
    doubled: int = 0
    suites: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def unknown(self) -> list[str]:
        """Columns of which no imported row knows anything."""
        return [name for name in NAMES if not self.known[name]]


def find_importer(path: Path, name: str | None = None) -> Importer:
    """The importer of a format by name, or the one that recognises the path. Raises UnreadableImportError."""
    names = ", ".join(importer.name for importer in IMPORTERS)
    if not path.exists():
        raise UnreadableImportError(f"{path} was asked for, but there is no such file or folder.")
    if name is not None:
        for importer in IMPORTERS:
            if importer.name == name:
                return importer
        raise UnreadableImportError(f"The format {name!r} was asked for; known are {names}.")
    for importer in IMPORTERS:
        if importer.recognises(path):
            return importer
    raise UnreadableImportError(f"{path} looks like none of the formats {names}: name one with --format.")


def import_results(
    path: Path, root: str | None, options: Options, *, format_name: str | None = None, keep_refused: int = 100
) -> ImportReport:
    """Import a path into a results folder, streaming; with root None nothing is written (a dry run).

    Importing the same path with the same options again replaces the same files and doubles nothing. Raises
    UnreadableImportError where nothing could be imported, and then leaves nothing of it behind.
    """
    importer = find_importer(path, format_name)
    report = ImportReport(importer.name)
    word = "\0".join((importer.name, str(path.resolve()), repr(options)))
    writer = "import" + hashlib.sha256(word.encode()).hexdigest()[:12]
    target = None if root is None else Root(root)
    maker = RowMaker(importer.name, options)
    try:
        rows = _rows(importer.read(path, options), maker, report, keep_refused)
        for number, batch in enumerate(_batched(rows, _ROWS_PER_FILE)):
            if target is not None:
                report.files += write_parquet(target, Segment(Path(), writer, number), batch)
    except (UnreadableImportError, OSError) as error:
        _remove(target, report.files)
        if isinstance(error, UnreadableImportError):
            raise
        raise UnreadableImportError(f"{path} was asked for as {importer.name}, but cannot be read: {error}.") from None
    if not report.rows:
        first = f" ({report.refused[0].reason})" if report.refused else ""
        raise UnreadableImportError(f"{path} gave no row as {importer.name}{first}: nothing was imported.")
    if target is not None:
        earlier = {name for name, _ in target.list_files("trials", ".parquet") if f"/part-{writer}-" in name}
        _remove(target, sorted(earlier - {*report.files}))
    report.suites = list(maker.suites)
    return report


def _remove(target: Root | None, files: Iterable[str]) -> None:
    for name in files:
        if target is not None:
            target.remove(name)


def _batched(rows: Iterable[dict[str, object]], size: int) -> Iterator[list[dict[str, object]]]:
    left = iter(rows)
    while batch := list(islice(left, size)):
        yield batch


def _rows(
    trials: Iterable[Trial | Refused], maker: RowMaker, report: ImportReport, keep_refused: int
) -> Iterator[dict[str, object]]:
    for trial in trials:
        row = trial if isinstance(trial, Refused) else maker.row(trial)
        if not isinstance(row, Refused):
            try:
                check(row)
            except RowError as error:
                row = Refused(str(row["imported_from"]), str(error))
        if isinstance(row, Refused):
            report.refused_count += 1
            report.doubled += row.doubled
            if len(report.refused) < keep_refused:
                report.refused.append(row)
            continue
        if isinstance(trial, Trial) and trial.remark:
            report.remarks_count += 1
            if len(report.remarks) < keep_refused:
                report.remarks.append(Refused(trial.source, trial.remark))
        report.rows += 1
        report.by_score += isinstance(trial, Trial) and trial.by_score
        report.statuses[str(row["status"])] += 1
        report.known.update(name for name, value in row.items() if value is not None)
        yield row
