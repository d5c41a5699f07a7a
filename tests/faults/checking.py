"""What must hold when a disturbed sweep is done: each trial there once, ended as it must, nothing left behind."""

from collections import Counter, defaultdict
from pathlib import Path

from orchestrator.core.plan import trials
from orchestrator.core.retry import is_taken_up_again
from orchestrator.core.status import Origin, Status
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import list_sweeps, read_plan
from sandboxes.docker import DockerProvider
from sandboxes.labels import SWEEP
from tests.faults.checked import Checked
from tests.faults.running import Bench

COLUMNS = ("trial_key", "attempt_id", "attempt", "agent", "status", "failure_kind", "final")


def check_rows(results: Path, expected: dict[str, frozenset[str]], checked: Checked) -> None:
    """`expected`: for each agent the statuses in which a trial may end."""
    root = Root(str(results))
    (sweep_id,) = list_sweeps(root)
    planned = {trial.key for trial in trials(read_plan(root, sweep_id), 0)}
    rows: dict[str, list[dict[str, object]]] = defaultdict(list)
    for table in scan(root, COLUMNS, sweep_id):
        for row in table.to_pylist():
            rows[row["trial_key"]].append(row)
    ids = Counter(row["attempt_id"] for group in rows.values() for row in group)
    twice = [name for name, count in ids.items() if count > 1]
    checked.doubled += len(twice)
    for key in planned | set(rows):
        group = sorted(rows[key], key=lambda row: int(str(row["attempt"])))
        final = [row for row in group if row["final"]]
        checked.lost += not final
        checked.doubled += len(final) > 1 or key not in planned
        numbers = [row["attempt"] for row in group]
        if numbers != list(range(len(numbers))):
            checked.wrong += 1
            checked.notes.append(f"{key}: attempts {numbers}")
        for row in group[:-1]:
            status, kind = Status(str(row["status"])), row["failure_kind"]
            if status.origin is not Origin.INFRASTRUCTURE and not is_taken_up_again(status, str(kind)):
                checked.wrong += 1
                checked.notes.append(f"{key}: {status.value} was tried again")
        if final and str(final[-1]["status"]) not in expected[str(final[-1]["agent"])]:
            checked.wrong += 1
            checked.notes.append(f"{key}: {final[-1]['agent']} ended {final[-1]['status']}")


def check_left_over(bench: Bench, provider: DockerProvider, checked: Checked) -> None:
    """Containers, networks, volumes, processes, half-written files and logs of the sweep."""
    containers = bench.containers(provider, all_states=True)
    others = [thing for sweep_id in bench.sweep_ids() for thing in _others(provider, sweep_id)]
    processes = bench.end_left_over()
    files = list(bench.results.rglob("*.tmp"))
    journals = [*bench.results.glob("sweeps/*/journal/*.jsonl"), *bench.results.glob("sweeps/*/usage/*")]
    for what, found in (
        ("container", containers),
        ("network or volume", others),
        ("process", processes.values()),
        ("file", files),
        ("journal", journals),
    ):
        checked.leaked += len(found)
        checked.notes += [f"{what} left: {str(item)[:120]}" for item in list(found)[:3]]


def _others(provider: DockerProvider, sweep_id: str) -> list[str]:
    wanted = {"label": f"{SWEEP}={sweep_id}"}
    client = provider.engine.client
    networks = [str(item["Name"]) for item in client.networks(filters=wanted)]
    return networks + [str(item["Name"]) for item in client.volumes(filters=wanted)["Volumes"] or []]
