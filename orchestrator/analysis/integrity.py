"""What is wrong with rows: duplicates, gaps, mixed digests, clocks. Found, listed, kept out; never passed over."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.analysis.blocks import Block, Coded, Wanted
from orchestrator.analysis.cells import ARM_KEYS
from orchestrator.analysis.fingerprints import Fingerprints, read_fingerprints
from orchestrator.analysis.grouping import Grouped, GroupedBy, Sums
from orchestrator.analysis.rows import RowFile
from orchestrator.analysis.scanning import Partitioner

PROFILE_KEYS = (
    *ARM_KEYS,
    "sweep",
    "schema_version",
    "suite_version",
    "suite_digest",
    "agent_digest",
    "model",
    "grader",
    "grading_mode",
    "judge_version",
    "headroom",
    "retry_max",
    "timeout_multiplier",
    "price_version",
    "imported_from",
)


NO_VERDICT = "no trial with a verdict"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or must be known. severity: error (rows kept out), warning, or note."""

    kind: str
    severity: str
    count: int
    where: str
    sentence: str

    @property
    def spoils(self) -> bool:
        """Whether a score cannot be given because of it: no trial has a verdict, or a task, an agent or a resource
        setting stands for several contents. (A suite may have grown: its tasks tell.)
        """
        mixed = (f"mixed {column} under one name" for column in ("task_digest", "agent_digest", "headroom"))
        return self.kind in (NO_VERDICT, *mixed)


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Findings about single rows, the rows to leave out, and a hash of the data that depends on no order."""

    findings: tuple[Finding, ...]
    excluded: Mapping[str, NDArray[np.int64]]
    rows: int
    data_hash: str


def check_rows(files: Sequence[RowFile], *, map_partitions: Partitioner | None = None) -> RowCheck:
    """Look at every row's identity and times, in one pass.

    Of rows with the same trial and attempt the first is kept; of several final attempts of one trial (a
    cancelled trial taken up again) the last is kept. Attempts that are not final are kept: they cost money.
    """
    prints = read_fingerprints(files, map_partitions)
    excluded: list[NDArray[np.int64]] = []
    findings = list(_duplicates(prints, excluded))
    findings += _superseded(prints, excluded)
    findings += _gaps(prints)
    findings += _clocks(prints)
    return RowCheck(tuple(findings), prints.places(excluded), prints.rows, prints.digest)


def _duplicates(prints: Fingerprints, excluded: list[NDArray[np.int64]]) -> Iterator[Finding]:
    order = prints.order
    same = (np.diff(prints.trial[order]) == 0) & (np.diff(prints.attempt[order]) == 0)
    later = order[1:][same]
    if len(later):
        excluded.append(later)
        yield Finding(
            "duplicate attempts",
            "error",
            len(later),
            prints.name(later),
            f"{len(later)} rows repeat an attempt that is already there; the first of each was kept and the others "
            "were left out: remove the files that hold them twice.",
        )


def _superseded(prints: Fingerprints, excluded: list[NDArray[np.int64]]) -> Iterator[Finding]:
    gone = np.zeros(prints.rows, dtype=bool)
    for index in excluded:
        gone[index] = True
    order = prints.order[(prints.final & ~gone)[prints.order]]
    earlier = order[:-1][np.diff(prints.trial[order]) == 0]
    if len(earlier):
        excluded.append(earlier)
        yield Finding(
            "superseded final attempts",
            "note",
            len(earlier),
            prints.name(earlier),
            f"{len(earlier)} trials ended more than once (cancelled or lost, then taken up again); the last ending "
            "of each counts.",
        )


def _gaps(prints: Fingerprints) -> Iterator[Finding]:
    order = prints.order
    trial, attempt = prints.trial[order], prints.attempt[order]
    first = np.r_[True, np.diff(trial) != 0] if len(trial) else np.zeros(0, dtype=bool)
    step = np.r_[0, np.diff(attempt)] if len(trial) else np.zeros(0)
    broken = order[(first & (attempt != 0)) | (~first & (step > 1))]
    if len(broken):
        yield Finding(
            "attempts not consecutive",
            "warning",
            len(broken),
            prints.name(broken),
            f"{len(broken)} attempts follow one whose row is missing: what was lost had a cost and an ending that "
            "nobody can know; look for rows that were deleted.",
        )
    starts = np.flatnonzero(first)
    ended = np.logical_or.reduceat(prints.final[order], starts) if len(starts) else first
    open_trials = int((~ended).sum())
    if open_trials:
        yield Finding(
            "trials without an end",
            "warning",
            open_trials,
            "",
            f"{open_trials} trials have attempts but none that is final: the sweep is running or was stopped; "
            "run it again to finish them.",
        )


def _clocks(prints: Fingerprints) -> Iterator[Finding]:
    backwards, wrong_day = np.flatnonzero(prints.backwards), np.flatnonzero(prints.wrong_day)
    for index, kind, what in (
        (backwards, "finished before started", "a clock was set back, so their durations mean nothing"),
        (
            wrong_day,
            "day is not the day of the start",
            "day and started_at disagree, so they may be counted on a wrong day",
        ),
    ):
        if len(index):
            sentence = f"{len(index)} attempts: {what}; check the clocks of the machines that ran them."
            yield Finding(kind, "warning", len(index), prints.name(index), sentence)


@dataclass(frozen=True, slots=True)
class RowCount:
    """Counts rows, and final ones."""

    @property
    def wanted(self) -> Wanted:
        return Wanted((), (), ("final",))

    def reduce(self, block: Block, code: NDArray[np.int64], size: int) -> dict[str, Sums]:
        final = np.bincount(code[block.flags["final"]], minlength=size)
        return {"rows": np.bincount(code, minlength=size), "trials": final}


PROFILES = GroupedBy(PROFILE_KEYS, RowCount())
TASK_DIGESTS = GroupedBy(("suite", "sweep", "task", "task_digest"), RowCount())


def check_profiles(profiles: Grouped, digests: Grouped) -> Iterator[Finding]:
    """Names that stand for more than one content, and settings that differ within an arm."""
    for owner, column in (("suite", "suite_digest"), ("agent", "agent_digest"), ("resources", "headroom")):
        yield from _mixed(profiles.keys[owner], profiles.keys[column], owner, column, "error")
    yield from _mixed(
        digests.keys["task"], digests.keys["task_digest"], "task", "task_digest", "error", digests.keys["suite"]
    )
    for column in (
        "schema_version",
        "grader",
        "judge_version",
        "retry_max",
        "timeout_multiplier",
        "price_version",
        "model",
    ):
        for arm, part in profiles.groups(ARM_KEYS):
            values = part.keys[column].present()
            if len(values) > 1:
                name = "/".join(str(value) for value in arm)
                yield Finding(
                    f"mixed {column}",
                    "warning",
                    len(values),
                    name,
                    f"{name} holds rows with {len(values)} values of {column} ({_list(values)}): "
                    "compare them apart, by sweep or by day.",
                )


def _mixed(
    owner: Coded, value: Coded, name: str, column: str, severity: str, within: Coded | None = None
) -> Iterator[Finding]:
    spaces = within.decode() if within is not None else [""] * len(owner.codes)
    seen: dict[tuple[object, object], set[object]] = {}
    for space, key, content in zip(spaces, owner.decode(), value.decode(), strict=True):
        seen.setdefault((space, key), set()).add(content)
    for (_, key), contents in sorted(seen.items(), key=lambda item: str(item[0])):
        if len(contents) > 1:
            yield Finding(
                f"mixed {column} under one name",
                severity,
                len(contents),
                str(key),
                f"{name} {key} stands for {len(contents)} different contents ({column}: {_list(contents)}); "
                "give each its own name, or aggregate the sweeps apart.",
            )


def _list(values: Iterable[object], at_most: int = 4) -> str:
    shown = sorted(str(value)[:16] for value in values)
    return ", ".join(shown[:at_most]) + (", ..." if len(shown) > at_most else "")
