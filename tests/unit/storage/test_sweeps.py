"""A sweep's plan, its lock, and which of its trials are settled."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.core.retry import BROKEN_TASK, CONTROLLER_LOST
from orchestrator.storage.reading import ResultsError
from orchestrator.storage.root import Root
from orchestrator.storage.store import RowStore
from orchestrator.storage.sweeps import (
    SweepBusyError,
    TrialState,
    find_sweep,
    hosts_by_wave,
    list_sweeps,
    plan_path,
    read_plan,
    sweep_lock,
    trial_states,
    waves_with_rows,
    write_plan,
)
from tests.unit.core.plans import make_plan
from tests.unit.storage.rows_made import make_row


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "results")


def test_a_plan_is_read_back_as_it_was_written_and_found_by_its_name(root: Root) -> None:
    plans = [make_plan(sweep_id=i, name=i.rsplit("-", 1)[0]) for i in ("night-1", "night-run-2", "day-3")]
    for plan in plans:
        write_plan(root, plan)
    assert read_plan(root, "night-1") == plans[0]
    assert list_sweeps(root) == ["day-3", "night-1", "night-run-2"]
    assert find_sweep(root, "night-run") == plans[1]
    assert find_sweep(root, "run") is None


def test_a_plan_that_is_not_there_or_cannot_be_read_is_told_in_a_sentence(root: Root) -> None:
    with pytest.raises(ResultsError, match="holds no sweep s-1; `passhat status`"):
        read_plan(root, "s-1")
    for text in (b"", b"{}", b'{"arms": [1]}', b"[]"):
        root.write(plan_path("s-1"), text)
        with pytest.raises(ResultsError, match="cannot be read"):
            read_plan(root, "s-1")


HOLDER = """
import sys
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import sweep_lock
with sweep_lock(Root(sys.argv[1]), "s-1"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_sweep_has_one_controller_and_the_lock_ends_with_its_holder(root: Root) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, root.location],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SweepBusyError, match=f"run by process {holder.pid}; wait"), sweep_lock(root, "s-1"):
            pass
        with sweep_lock(root, "s-2"):
            pass
        holder.kill()
    with sweep_lock(root, "s-1"):
        pass


def test_the_state_of_a_trial_follows_from_its_rows(root: Root) -> None:
    rows = [
        make_row(0),
        make_row(1, status="FAILED"),
        make_row(2, 0, status="LOST", final=False, failure_kind="worker_died"),
        make_row(2, 1, status="MODEL_ERROR", final=False, failure_kind="model_error"),
        make_row(3, 0, status="LOST", final=False, failure_kind="worker_died"),
        make_row(3, 1, status="PASSED"),
        make_row(4, status="LOST", final=False, failure_kind=CONTROLLER_LOST),
        make_row(5, status="CANCELLED", final=False, failure_kind="cancelled"),
        make_row(6, status="CANCELLED", failure_kind=BROKEN_TASK),
        make_row(7, status="IMAGE_ERROR", failure_kind="image"),
        make_row(8, sweep="s-2"),
    ]
    with RowStore(root, "s-1", "w1") as store:
        for row in rows:
            store.add(row)
        store.seal()
    found = trial_states(root, "s-1")
    assert {int(key[1:]): state for key, state in found.items()} == {
        0: TrialState(True, 1, 0, passed=True, has_verdict=True),
        1: TrialState(True, 1, 0, passed=False, has_verdict=True),
        2: TrialState(False, 2, 2),
        3: TrialState(True, 2, 1, passed=True, has_verdict=True),
        4: TrialState(False, 1, 0),
        5: TrialState(False, 1, 0),
        6: TrialState(True, 1, 0),
        7: TrialState(True, 1, 1),
    }


def test_waves_that_were_started_and_the_hosts_they_ran_on(root: Root) -> None:
    with RowStore(root, "s-1", "w1") as store:
        store.add(make_row(0, wave=0, host_id="h1"))
        store.add(make_row(1, wave=0, host_id="h1"))
        store.add(make_row(2, wave=2, host_id=None))
        store.add(make_row(3, wave=3, host_id="h2", sweep="s-2"))
        store.seal()
    assert waves_with_rows(root, "s-1") == {0, 2}
    assert hosts_by_wave(root, "s-1") == {(0, "h1")}
    assert waves_with_rows(root, "s-9") == frozenset()
