"""Cells that are missing: against the frozen plan, between arms, and from task to task."""

from collections import Counter
from collections.abc import Iterator, Sequence

from orchestrator.analysis.cells import ARM_KEYS, planned
from orchestrator.analysis.grouping import Grouped
from orchestrator.analysis.integrity import NO_VERDICT, Finding
from orchestrator.core.status import Status
from orchestrator.storage.reading import ResultsError
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import list_sweeps, read_plan


def check_cells(cells: Grouped, roots: Sequence[str]) -> Iterator[Finding]:
    """Findings about cells: trials that a plan holds and the rows do not, unequal n, tasks of one arm only."""
    for root in roots:
        yield from _against_plans(cells, root)
    for (suite,), part in cells.groups(["suite"]):
        tasks_of = {arm: set(group.keys["task"].present()) for arm, group in part.groups(ARM_KEYS)}
        every = set().union(*tasks_of.values())
        for arm, tasks in tasks_of.items():
            missing = sorted(str(task) for task in every - tasks)
            if missing:
                name = "/".join(str(value) for value in arm)
                yield Finding(
                    "tasks missing from an arm", "warning", len(missing), name,
                    f"{name} has no trial of {len(missing)} of {len(every)} tasks of {suite} ({', '.join(missing[:4])}"
                    f"{', ...' if len(missing) > 4 else ''}): its scores are of other tasks than those of the other arms.",
                )  # fmt: skip
    yield from _unequal(cells)
    yield from _without_verdict(cells)
    unknown = int(cells.measure("score_missing").sum())
    if unknown:
        yield Finding(
            "scores missing", "warning", unknown, "",
            f"{unknown} trials passed or failed and tell no number as score; the mean score counts each as 0, pass@k does not use it.",
        )  # fmt: skip
    kept_out = int(cells.measure("suspect").sum())
    if kept_out:
        names = sorted(
            {str(t) for t, n in zip(cells.keys["task"].decode(), cells.measure("suspect").tolist(), strict=True) if n}
        )
        yield Finding(
            "suspect trials", "warning", kept_out, ", ".join(names[:6]),
            f"{kept_out} trials carry a flag that keeps them out of every score: look at them with `passhat show`.",
        )  # fmt: skip


def _without_verdict(cells: Grouped) -> Iterator[Finding]:
    """Trials that no score knows, by the way they ended; an arm that has only such is an error."""
    silent = [status for status in Status if not status.has_verdict]
    for arm, part in cells.groups(ARM_KEYS):
        counts = {str(status): int(part.measure(f"trials_{status}").sum()) for status in silent}
        count, every = sum(counts.values()), int(planned(part).sum())
        if not count:
            continue
        name = "/".join(str(value) for value in arm)
        ways = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
        told = f"{name}: {count} of {every} trials ended without a verdict ({ways})"
        if count == every:
            yield Finding(NO_VERDICT, "error", count, name, f"{told}: it is in no table of scores.")
        else:
            yield Finding("trials without a verdict", "warning", count, name, f"{told} and are in no score.")


def _unequal(cells: Grouped) -> Iterator[Finding]:
    for arm, part in cells.groups(ARM_KEYS):
        by_task = part.regroup(["task"])
        sizes = Counter(planned(by_task).tolist())
        if len(sizes) > 1:
            name = "/".join(str(value) for value in arm)
            yield Finding(
                "unequal trials per task", "note", sum(sizes.values()) - max(sizes.values()), name,
                f"{name} has {min(sizes)} to {max(sizes)} trials per task: curves stop at the smallest, and every task "
                "weighs the same whatever its number of trials.",
            )  # fmt: skip


def _against_plans(cells: Grouped, root: str) -> Iterator[Finding]:
    there = set(cells.keys["sweep"].present())
    for sweep in list_sweeps(Root(root)):
        if sweep not in there:
            continue
        try:
            plan = read_plan(Root(root), sweep)
        except ResultsError as error:
            yield Finding("plan cannot be read", "warning", 1, sweep, str(error) + ".")
            continue
        mine = cells.where(cells.keys["sweep"].mask(lambda value, sweep=sweep: value == sweep))  # type: ignore[misc]
        done = int(planned(mine).sum())
        if done < plan.size:
            yield Finding(
                "planned trials missing", "warning", plan.size - done, sweep,
                f"{plan.size - done} of {plan.size} planned trials of {sweep} have no final row yet: "
                "numbers are of an unfinished sweep; run it again to finish it.",
            )  # fmt: skip
