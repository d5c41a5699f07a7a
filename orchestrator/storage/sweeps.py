"""A sweep's own files: its frozen plan, the lock that says one controller at a time, which trials are done."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from orchestrator.core.plan import Arm, Plan
from orchestrator.core.retry import is_taken_up_again, uses_up
from orchestrator.core.status import Status
from orchestrator.storage.reading import ResultsError, scan
from orchestrator.storage.root import Root


class SweepBusyError(RuntimeError):
    """Another process runs this sweep."""


def plan_path(sweep_id: str) -> str:
    return f"sweeps/{sweep_id}/plan.json"


def usage_folder(root: Root, sweep_id: str) -> Path:
    """Where the gateways of a sweep on this machine note what attempts have used."""
    return root.local_folder(f"sweeps/{sweep_id}/usage")


def write_plan(root: Root, plan: Plan) -> None:
    data = json.dumps(asdict(plan), indent=1, sort_keys=True, allow_nan=False).encode()
    root.write(plan_path(plan.sweep_id), data)


def read_plan(root: Root, sweep_id: str) -> Plan:
    """Raises ResultsError when there is none, or it cannot be read."""
    try:
        fields = json.loads(root.read(plan_path(sweep_id)))
        fields["arms"] = tuple(Arm(**arm) for arm in fields["arms"])
        return Plan(**fields)
    except FileNotFoundError:
        raise ResultsError(
            f"{root.location} holds no sweep {sweep_id}; `passhat status` lists those it holds"
        ) from None
    except (ValueError, TypeError, KeyError) as error:
        raise ResultsError(f"{plan_path(sweep_id)} cannot be read ({error}); restore it from a copy") from None


def list_sweeps(root: Root) -> list[str]:
    """Ids of all sweeps of a root, oldest name first."""
    names = (path.split("/")[1] for path, _ in root.list_files("sweeps", "plan.json"))
    return sorted(set(names))


def find_sweep(root: Root, name: str) -> Plan | None:
    """The plan with this name, whatever its id."""
    for sweep_id in list_sweeps(root):
        if sweep_id.rsplit("-", 1)[0] == name:
            return read_plan(root, sweep_id)
    return None


@contextmanager
def sweep_lock(root: Root, sweep_id: str) -> Iterator[None]:
    """Hold the sweep for one controller on this machine; the kernel frees it when the holder dies.

    Raises SweepBusyError at once when another process holds it.
    """
    folder = root.local_folder(f"sweeps/{sweep_id}")
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 64, 0).decode(errors="replace").strip() or "unknown"
            raise SweepBusyError(
                f"sweep {sweep_id} is being run by process {holder}; wait for it, or stop it with Ctrl-C there"
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def full_disk_explained(root: Root) -> Iterator[None]:
    """Within, a disk or quota that is full is a ResultsError that says where and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ResultsError(
            f"results cannot be written to {root.location}: {os.strerror(error.errno)}; free some space and run the"
            " same command again, every attempt that was recorded is kept"
        ) from error


@dataclass(slots=True)
class TrialState:
    """What earlier attempts of a trial left: whether it is settled, and the numbers of the next attempt."""

    settled: bool = False
    next_attempt: int = 0
    failures: int = 0
    passed: bool = False
    has_verdict: bool = False


_STATE_COLUMNS = ("sweep", "trial_key", "attempt", "status", "failure_kind", "final")


def trial_states(root: Root, sweep_id: str) -> dict[str, TrialState]:
    """The state of every trial of a sweep that has rows, by trial key. Raises ResultsError."""
    states: dict[str, TrialState] = {}
    for table in scan(root, _STATE_COLUMNS, sweep_id):
        _add(states, table)
    return states


def _add(states: dict[str, TrialState], table: pa.Table) -> None:
    columns = (table.column(name).to_pylist() for name in _STATE_COLUMNS[1:])
    for key, attempt, word, kind, final in zip(*columns, strict=True):
        status = Status(word)
        state = states.setdefault(key, TrialState())
        state.next_attempt = max(state.next_attempt, attempt + 1)
        state.failures += uses_up(status, kind)
        if final and not is_taken_up_again(status, kind):
            state.settled = True
            state.passed = status is Status.PASSED
            state.has_verdict = status.has_verdict


def waves_with_rows(root: Root, sweep_id: str) -> frozenset[int]:
    """Waves of a sweep that were started."""
    found: set[int] = set()
    for table in scan(root, ("wave",), sweep_id):
        found.update(table.column("wave").unique().to_pylist())
    return frozenset(found)


def hosts_by_wave(root: Root, sweep_id: str) -> set[tuple[int, str]]:
    """(wave, host id) of all rows that ran on a host."""
    found: set[tuple[int, str]] = set()
    for table in scan(root, ("wave", "host_id"), sweep_id):
        columns = (table.column(name).to_pylist() for name in ("wave", "host_id"))
        found.update((wave, host) for wave, host in zip(*columns, strict=True) if host is not None)
    return found


def used_up(root: Root, sweep_id: str) -> tuple[int, float]:
    """(attempts made, USD known to be spent) of a sweep by all its calls so far."""
    attempts, usd = 0, 0.0
    for table in scan(root, ("cost_usd", "judge_cost_usd"), sweep_id):
        attempts += len(table)
        for name in ("cost_usd", "judge_cost_usd"):
            usd += sum(cost for cost in table.column(name).to_pylist() if cost is not None)
    return attempts, usd
