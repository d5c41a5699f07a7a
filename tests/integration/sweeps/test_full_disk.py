"""A disk that fills in mid-sweep: one sentence, and nothing is lost or doubled once there is room again."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.execution.freeze import facts
from orchestrator.execution.place import PlaceOptions, cluster_opener
from orchestrator.execution.running import Request, load
from orchestrator.execution.session import RunOptions, run_sweep
from orchestrator.storage.reading import ResultsError, scan
from orchestrator.storage.root import Root

REPEATS = 60
SWEEP = f"""name = "filling"
suite = "suite"
repeats = {REPEATS}
agents = [{{ name = "nop", kind = "nop" }}]
retry = {{ max = 0 }}
"""


@pytest.fixture
def small_results(tmp_path: Path) -> Iterator[Path]:
    """A results folder with room for some of the rows."""
    folder = tmp_path / "results"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=220k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def kept(results: Path) -> list[dict[str, object]]:
    return [row for table in scan(Root(results)) for row in table.to_pylist()]


def call(sweep: Path, told: list[str]) -> None:
    """One call of the sweep; `told` gets the attempts that it reports."""
    place = PlaceOptions(provider="fake", inline=True)
    frozen, root = load(Request(sweep=sweep, place=place), datetime(2026, 5, 1, tzinfo=UTC))
    opener = cluster_opener(frozen, place, None, None, facts(frozen))

    def notify(event: str, fields: Mapping[str, object]) -> None:
        if event == "attempt":
            told.append(str(fields["attempt_id"]))

    run_sweep(frozen, root, opener, RunOptions(), notify)


def test_a_disk_that_fills_is_said_in_a_sentence_and_the_same_command_goes_on(
    small_results: Path, tmp_path: Path, task_folder
) -> None:
    task_folder(tmp_path / "suite" / "one")
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP)
    told: list[str] = []
    with pytest.raises(ResultsError, match=rf"cannot be written to {small_results}: No space left.*free some space"):
        call(sweep, told)
    before = [row["attempt_id"] for row in kept(small_results)]
    assert 0 < len(before) < REPEATS
    assert set(told) <= set(before)
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_results)], check=True)
    call(sweep, told)
    rows = kept(small_results)
    attempts = [row["attempt_id"] for row in rows]
    assert len(set(attempts)) == len(attempts)
    assert set(before) <= set(attempts)
    assert len({row["trial_key"] for row in rows if row["final"]}) == REPEATS
    assert sum(bool(row["final"]) for row in rows) == REPEATS
    assert {row["status"] for row in rows if not row["final"]} <= {"LOST"}
