"""A sweep over three days, run as a timer would: called again and again at any time, killed, and complete."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, load, run_due
from tests.integration.sweeps.conftest import Silent

START = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)

SWEEP = """name = "days"
suite = "suite"
repeats = 2
seed = 7
agents = [{ name = "oracle", kind = "oracle" }, { name = "nop", kind = "nop" }]
[schedule]
waves = 3
every = "1d"
at = ["03:00"]
timezone = "Europe/Berlin"
missed = "MISSED"
[retry]
max = 0
"""


class Killed(Exception):
    """What stands for the process's end between two rows."""


def call(sweep: Path, moment: datetime, die_after: int | None = None) -> int:
    """One call of `passhat run` at a moment; with die_after it ends abruptly after so many attempts."""

    class Mortal(Silent):
        def hear(self, event: str, fields: object) -> None:
            super().hear(event, fields)
            if die_after is not None and self.heard.count("attempt") >= die_after:
                raise Killed

    request = Request(sweep=sweep, place=PlaceOptions(provider="fake", inline=True))
    return run_due(request, Mortal, quiet=True, now=lambda: moment, sleep=lambda _: None)


def rows(sweep: Path) -> list[tuple[int, int, int, bool]]:
    """Per wave: rows that count, distinct trials among them, days, whether marked late."""
    return duckdb.sql(
        f"""select wave, count(*), count(distinct trial_key), bool_or(wave_late)
        from read_parquet('{sweep.parent}/results/trials/**/*.parquet', hive_partitioning = true)
        where final group by wave order by wave"""
    ).fetchall()


@pytest.fixture
def sweep(tmp_path: Path, task_folder) -> Path:
    task_folder(tmp_path / "suite" / "one")
    task_folder(tmp_path / "suite" / "two")
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.replace("MISSED", "run"))
    return path


def test_three_waves_run_once_each_when_called_every_few_hours_and_killed_twice(sweep: Path) -> None:
    moment, deaths = START, [3, 2]
    while moment < START + timedelta(days=4):
        try:
            call(sweep, moment, deaths[0] if deaths else None)
        except Killed:
            deaths.pop(0)
        moment += timedelta(hours=5)
    assert not deaths
    assert rows(sweep) == [(0, 8, 8, False), (1, 8, 8, False), (2, 8, 8, False)]


def test_waves_keep_their_hour_over_the_change_to_summer_time(sweep: Path) -> None:
    from orchestrator.core.waves import due_times
    from orchestrator.execution.rhythm import rhythm_of

    frozen, _ = load(Request(sweep=sweep), START)
    times = due_times(rhythm_of(frozen.config), START)
    assert [t.isoformat() for t in times] == [
        "2026-03-28T02:00:00+00:00",
        "2026-03-29T01:00:00+00:00",
        "2026-03-30T01:00:00+00:00",
    ]


def test_after_days_of_silence_missed_waves_are_run_and_marked_late(sweep: Path) -> None:
    call(sweep, START)
    call(sweep, START + timedelta(days=9))
    assert rows(sweep) == [(0, 8, 8, True), (1, 8, 8, True), (2, 8, 8, False)]


def test_missed_waves_are_skipped_where_the_sweep_says_so(sweep: Path) -> None:
    sweep.write_text(SWEEP.replace("MISSED", "skip"))
    call(sweep, START)
    call(sweep, START + timedelta(days=9))
    assert rows(sweep) == [(2, 8, 8, False)]


def test_a_clock_that_jumps_back_runs_nothing_twice(sweep: Path) -> None:
    call(sweep, START)
    call(sweep, START + timedelta(days=1))
    before = rows(sweep)
    call(sweep, START - timedelta(days=30))
    call(sweep, START + timedelta(days=1))
    assert rows(sweep) == before
