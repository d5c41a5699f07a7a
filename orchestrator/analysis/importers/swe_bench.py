"""Reports of SWE-bench: lists of resolved, unresolved and other ids of one model and one run."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    holds,
    load_json,
    mapping,
    whole,
)
from orchestrator.core.status import Status

VERSIONS = (None, 1, 2)
_ENDINGS = (
    ("resolved_ids", Status.PASSED),
    ("resolved", Status.PASSED),
    ("unresolved_ids", Status.FAILED),
    ("unresolved", Status.FAILED),
    ("error_ids", Status.GRADER_ERROR),
    ("empty_patch_ids", Status.FAILED),
    ("no_generation", Status.FAILED),
    ("incomplete_ids", Status.LOST),
    ("no_logs", Status.GRADER_ERROR),
)
# Who stands in one of these and in none of the others was run and not resolved: older reports list no unresolved.
_RUN = ("completed_ids", "submitted_ids", "generated", "with_logs", "applied")
_QUIET = ("resolved_ids", "resolved", "unresolved_ids", "unresolved")


class SweBench:
    """A report with lists of ids; one trial per id."""

    name = "swe-bench"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".json" and (holds(path, '"resolved_ids"') or _lists_resolved(path))

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """An id in two lists is refused for the second. The file's name is <model>.<run>.json."""
        report = mapping(load_json(path))
        if report.get("schema_version") not in VERSIONS:
            raise UnreadableImportError(
                f"{path} is a SWE-bench report of version {report['schema_version']!r}, but only 1 and 2 are known."
            )
        if not any(_ids(report, key) for key in (*_RUN, "unresolved_ids", "unresolved")):
            raise UnreadableImportError(
                f"{path} lists the resolved tasks and not those that were run, so that every rate would be 1: give a "
                "report that lists the others too."
            )
        agent, _, run = path.name.removesuffix(".json").rpartition(".")
        agent, run = (agent, run) if agent else (run, "run")
        seen: set[str] = set()
        for key, status in [*_ENDINGS, *((key, Status.FAILED) for key in _RUN)]:
            for task in _ids(report, key):
                if task not in seen:
                    seen.add(task)
                    yield _trial(report, task, status, key, f"{path.name}/{task}", (agent, run))
                elif key not in _RUN:
                    yield Refused(f"{path.name}/{task}", "the id stands in two lists of the report")
        yield from _untold(path, report, len(seen))


def _trial(
    report: Mapping[str, object], task: str, status: Status, key: str, source: str, who: tuple[str, str]
) -> Trial:
    """Newer reports say of a task that was not resolved whether its logs look like the environment's doing.

    They score it as not resolved all the same; here it is infrastructure. Where they are not sure it stays a failure.
    """
    reason = mapping(report.get("failure_reasons")).get(task)
    flags = None
    if status is not Status.PASSED and task in _ids(report, "infra_failure_ids"):
        status, flags = Status.SANDBOX_ERROR, ["scored_0_by_harness"]
    elif task in _ids(report, "ambiguous_failure_ids"):
        flags = [f"ambiguous_failure:{reason}"]
    known = {"failure_kind": reason or (None if key in _QUIET else key), "flags": flags}
    score = float(status is Status.PASSED) if status.has_verdict else None
    return Trial(source, "swe-bench", who[0], task, status, score, sweep=who[1], known=known)


def _lists_resolved(path: Path) -> bool:
    """An older report: nothing but lists of ids, of which one is the resolved."""
    if not holds(path, '"resolved"', within=1 << 20) or path.stat().st_size > 1 << 24:
        return False
    try:
        return isinstance(mapping(load_json(path)).get("resolved"), list)
    except UnreadableImportError:
        return False


def _ids(report: Mapping[str, object], key: str) -> list[str]:
    ids = report.get(key)
    return [str(task) for task in ids] if isinstance(ids, list) else []


def _untold(path: Path, report: Mapping[str, object], found: int) -> Iterator[Refused]:
    """Counts that the lists do not bear out, and tasks of which only the number is told."""
    for key, status in _ENDINGS:
        count, ids = whole(report.get(key.replace("_ids", "_instances"))), _ids(report, key)
        if key.endswith("_ids") and count is not None and count != len(ids):
            what = "resolved" if status is Status.PASSED else key.removesuffix("_ids")
            yield Refused(path.name, f"the report counts {count} {what} tasks and lists {len(ids)}")
    total = whole(report.get("total_instances"))
    if total is not None and total > found:
        yield Refused(path.name, f"{total - found} of {total} tasks stand in no list: nothing is known of them")
