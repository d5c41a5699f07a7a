"""What earlier rows tell of an agent on a suite: how long a trial took, what it cost, how often it passed."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.core.status import Status
from orchestrator.storage.reading import ResultsError, list_rows, scan
from orchestrator.storage.root import Root

_COLUMNS = ("agent_digest", "resources", "task", "suite_digest", "status", "final", "total_s", "cost_usd")


@dataclass(frozen=True, slots=True)
class Earlier:
    """Means over the trials of one agent and resource setting; mean_usd None where a cost is unknown."""

    trials: int
    mean_s: float
    mean_usd: float | None
    rates: Mapping[str, float]


def earlier_trials(root: Root, suite_digest: str) -> dict[tuple[str, str], Earlier]:
    """By (agent digest, resource setting), over final rows with a verdict on exactly this suite."""
    listing = list_rows(root)
    if not listing.files and not listing.journals:
        return {}
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    costs: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    passes: dict[tuple[str, str], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    try:
        for table in scan(root, _COLUMNS):
            for row in table.to_pylist():
                if row["suite_digest"] != suite_digest or not row["final"] or not Status(row["status"]).has_verdict:
                    continue
                key = (row["agent_digest"], row["resources"])
                seconds[key].append(row["total_s"] or 0.0)
                costs[key].append(row["cost_usd"])
                passes[key][row["task"]].append(row["status"] == Status.PASSED)
    except ResultsError:
        return {}
    found = {}
    for key, values in seconds.items():
        usd = [cost for cost in costs[key] if cost is not None]
        mean_usd = sum(usd) / len(usd) if len(usd) == len(values) else None
        rates = {task: sum(p) / len(p) for task, p in passes[key].items()}
        found[key] = Earlier(len(values), sum(values) / len(values), mean_usd, rates)
    return found
