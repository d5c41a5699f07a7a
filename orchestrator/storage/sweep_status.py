"""How far the sweeps of a results root are: counts from rows, and whether somebody holds the lock."""

import fcntl
import os
from dataclasses import dataclass

from orchestrator.storage.reading import list_rows
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import list_sweeps, read_plan, trial_states


@dataclass(frozen=True, slots=True)
class SweepStatus:
    """Counts of one sweep over all its waves; `problems`: files that cannot be read."""

    sweep_id: str
    created_at: str
    planned: int
    settled: int
    passed: int
    without_verdict: int
    attempts: int
    running: bool
    problems: tuple[str, ...]


def sweep_statuses(location: str) -> list[SweepStatus]:
    """Of every sweep, in order of their ids. Raises ResultsError for rows that cannot be read."""
    root = Root(location)
    problems = tuple(list_rows(root).problems)
    found = []
    for sweep_id in list_sweeps(root):
        plan = read_plan(root, sweep_id)
        states = trial_states(root, sweep_id).values()
        settled = [state for state in states if state.settled]
        found.append(
            SweepStatus(
                sweep_id,
                plan.created_at,
                plan.size,
                len(settled),
                sum(state.passed for state in settled),
                sum(not state.has_verdict for state in settled),
                sum(state.next_attempt for state in states),
                is_running(root, sweep_id),
                problems,
            )
        )
    return found


def is_running(root: Root, sweep_id: str) -> bool:
    """Whether a controller on this machine holds the sweep."""
    path = root.local_folder(f"sweeps/{sweep_id}") / "lock"
    if not path.exists():
        return False
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
