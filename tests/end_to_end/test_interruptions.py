"""A driver that is killed or interrupted in mid-sweep: the same command completes the plan and nothing is left over."""

from collections import Counter
from pathlib import Path

import pytest

from tests.builders import make_task
from tests.end_to_end.command_line import Running, assert_complete, containers, passhat, rows

pytestmark = [pytest.mark.docker, pytest.mark.ray]

SLOW = "#!/bin/bash\nsleep 4\n"
TASKS, REPEATS = 2, 3
PLANNED = TASKS * REPEATS


@pytest.fixture
def sweep(tmp_path: Path, make_sweep, conformance_image: str) -> Path:
    for number in range(TASKS):
        make_task(tmp_path / "suite" / f"slow-{number}", files={"solution/solve.sh": SLOW})
    return make_sweep(REPEATS, '[[resources]]\nname = "1x"\ncpus = 0.5\nmemory_mb = 128\n')


def await_mid_sweep(running: Running, results: Path) -> None:
    """One attempt has ended, and one that was seen to begin after that has seconds to go."""
    running.await_attempts(1)
    earlier = set(containers(results))
    running.wait_for(lambda: bool(set(containers(results)) - earlier))


def complete(sweep: Path) -> str:
    """The same command again, to the end; what it said."""
    results = sweep.parent / "results"
    again = passhat("run", sweep)
    assert again.returncode == 0, again.stderr
    assert_complete(rows(results), PLANNED)
    assert containers(results) == []
    assert len(list((results / "sweeps").iterdir())) == 1
    return again.stdout + again.stderr


def test_a_killed_driver_leaves_each_trial_once_and_no_container(sweep: Path) -> None:
    results = sweep.parent / "results"
    with Running(sweep) as running:
        await_mid_sweep(running, results)
        running.kill()
        before = {e["attempt_id"]: e["status"] for e in running.events if e["event"] == "attempt"}
    assert "lost attempts of a controller that died" in complete(sweep)
    after = {row["attempt_id"]: row for row in rows(results)}
    assert {attempt: after[attempt]["status"] for attempt in before} == before
    lost = [row for row in after.values() if row["status"] == "LOST"]
    assert lost
    assert not any(row["final"] for row in lost)


def test_one_interrupt_lets_running_trials_end_and_is_resumed(sweep: Path) -> None:
    results = sweep.parent / "results"
    with Running(sweep) as running:
        await_mid_sweep(running, results)
        running.ctrl_c()
        code, said = running.ended()
    assert code == 130, said
    assert "Traceback" not in said
    ended = rows(results)
    assert 2 <= len(ended) < PLANNED
    assert {(row["status"], row["final"]) for row in ended} == {("PASSED", True)}
    assert containers(results) == []
    complete(sweep)
    assert len(rows(results)) == PLANNED


def test_two_interrupts_end_everything_and_are_resumed(sweep: Path) -> None:
    results = sweep.parent / "results"
    with Running(sweep) as running:
        await_mid_sweep(running, results)
        running.ctrl_c()
        running.wait_for(lambda: any(e["event"] == "stopping" for e in running.events))
        running.ctrl_c()
        code, said = running.ended()
    assert code == 130, said
    assert "Traceback" not in said
    counted = Counter((row["status"], row["origin"], row["final"]) for row in rows(results))
    assert counted[("CANCELLED", "operator", False)] > 0
    assert set(counted) == {("CANCELLED", "operator", False), ("PASSED", "agent", True)}
    assert containers(results) == []
    complete(sweep)
