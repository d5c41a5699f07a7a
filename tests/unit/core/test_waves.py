"""When waves are due and which are to run now, over changes of daylight saving time, leap days and jumps."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.waves import Due, Rhythm, ScheduleError, due_now, due_times, interval


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def words(rhythm: Rhythm, frozen: str) -> list[str]:
    return [f"{moment:%m-%d %H:%M}" for moment in due_times(rhythm, at(frozen))]


BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("rhythm", "frozen", "due"),
    [
        (Rhythm(1), "2026-01-01 10:00", ["01-01 10:00"]),
        (Rhythm(3, every="6h"), "2026-01-01 10:00", ["01-01 10:00", "01-01 16:00", "01-01 22:00"]),
        (Rhythm(2, every="1w"), "2026-01-01 10:00", ["01-01 10:00", "01-08 10:00"]),
        (Rhythm(3, every="1d", timezone=BERLIN), "2026-03-28 02:00", ["03-28 02:00", "03-29 01:00", "03-30 01:00"]),
        (Rhythm(3, every="1d", timezone=BERLIN), "2026-10-24 01:00", ["10-24 01:00", "10-25 02:00", "10-26 02:00"]),
        (Rhythm(2, every="24h", timezone=BERLIN), "2026-03-28 02:00", ["03-28 02:00", "03-29 01:00"]),
        (Rhythm(3, every="12h", timezone=BERLIN), "2026-03-28 14:00", ["03-28 14:00", "03-29 02:00", "03-29 14:00"]),
        (Rhythm(2, every="1d", at=("02:30",), timezone=BERLIN), "2026-03-29 00:00", ["03-29 01:30", "03-30 00:30"]),
        (Rhythm(2, every="1d", at=("02:30",), timezone=BERLIN), "2026-10-25 00:00", ["10-25 00:30", "10-26 01:30"]),
        (
            Rhythm(3, every="1d", at=("18:00", "06:00")),
            "2026-01-01 07:00",
            ["01-01 18:00", "01-02 06:00", "01-02 18:00"],
        ),
        (Rhythm(2, at=("06:00",)), "2026-01-01 07:00", ["01-02 06:00", "01-03 06:00"]),
        (Rhythm(3, every="1d"), "2028-02-28 10:00", ["02-28 10:00", "02-29 10:00", "03-01 10:00"]),
        (Rhythm(3, every="1d"), "2027-02-28 10:00", ["02-28 10:00", "03-01 10:00", "03-02 10:00"]),
        (Rhythm(2, cron="0 3 29 2 *"), "2026-01-01 00:00", ["02-29 03:00", "02-29 03:00"]),
        (Rhythm(2, cron="30 4 * * 1"), "2026-01-01 00:00", ["01-05 04:30", "01-12 04:30"]),
        (Rhythm(1, start=at("2026-02-01 05:00")), "2026-01-01 00:00", ["02-01 05:00"]),
        (Rhythm(1, start=at("2025-02-01 05:00")), "2026-01-01 00:00", ["01-01 00:00"]),
    ],
)
def test_due_times(rhythm: Rhythm, frozen: str, due: list[str]) -> None:
    assert words(rhythm, frozen) == due


def test_a_whole_day_in_hours_keeps_its_wall_clock_too() -> None:
    hours = due_times(Rhythm(3, every="24h", timezone=BERLIN), at("2026-03-28 02:00"))
    assert hours == due_times(Rhythm(3, every="1d", timezone=BERLIN), at("2026-03-28 02:00"))


def test_times_in_the_hour_that_does_not_exist_stay_in_order() -> None:
    rhythm = Rhythm(3, every="1d", at=("02:45", "03:00"), timezone=BERLIN)
    assert words(rhythm, "2026-03-29 00:00") == ["03-29 01:00", "03-29 01:45", "03-30 00:45"]


def test_a_plan_frozen_in_the_hour_that_comes_twice_is_not_due_before_it_was_frozen() -> None:
    second = at("2026-10-25 01:30")
    assert due_times(Rhythm(2, every="1d", timezone=BERLIN), second)[0] == second


MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
RHYTHMS = st.builds(
    Rhythm,
    waves=st.integers(1, 6),
    every=st.sampled_from(["1d", "2d", "1w"]),
    at=st.lists(st.sampled_from(["00:00", "01:59", "02:00", "02:30", "03:00", "23:59"]), max_size=3, unique=True).map(
        tuple
    ),
    timezone=st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)


@given(RHYTHMS, MOMENTS)
def test_due_times_are_in_order_and_not_before_the_plan_was_frozen(rhythm: Rhythm, frozen: datetime) -> None:
    found = due_times(rhythm, frozen)
    assert len(found) == rhythm.waves
    assert found == sorted(found)
    assert found[0] >= frozen.replace(second=0, microsecond=0)
    assert found == due_times(rhythm, frozen)


@pytest.mark.parametrize(
    ("rhythm", "word"),
    [
        (Rhythm(1, timezone="Mars/Olympus"), "timezone 'Mars/Olympus' is not known"),
        (Rhythm(1, timezone="../../etc/passwd"), "timezone"),
        (Rhythm(1, cron="every day"), "is not a cron expression"),
        (Rhythm(2, cron="0 0 31 2 *"), "cron"),
        (Rhythm(2, every="6h", at=("03:00",)), "needs every to be whole days"),
        (Rhythm(2, every="daily"), "is not a time span"),
        (Rhythm(2, every="0d"), "is not a time span"),
    ],
)
def test_a_schedule_that_cannot_be_computed_says_so_in_a_sentence(rhythm: Rhythm, word: str) -> None:
    with pytest.raises(ScheduleError, match=word):
        due_times(rhythm, at("2026-01-01 00:00"))


def test_spans() -> None:
    assert [interval(t) for t in ("15m", "6h", "1d", "2w")] == [
        timedelta(minutes=15),
        timedelta(hours=6),
        timedelta(days=1),
        timedelta(weeks=2),
    ]


DAYS = [at(f"2026-01-0{n} 03:00") for n in range(1, 5)]


@pytest.mark.parametrize(
    ("now", "started", "missed", "due"),
    [
        ("2026-01-01 02:59", (), "run", Due((), frozenset(), (), DAYS[0])),
        ("2026-01-01 03:00", (), "run", Due((0,), frozenset(), (), DAYS[1])),
        ("2026-01-03 04:00", (), "run", Due((0, 1, 2), frozenset({0, 1}), (), DAYS[3])),
        ("2026-01-03 04:00", (), "skip", Due((2,), frozenset(), (0, 1), DAYS[3])),
        ("2026-01-03 04:00", (0,), "skip", Due((0, 2), frozenset(), (1,), DAYS[3])),
        ("2026-01-09 00:00", (0, 1, 2), "skip", Due((0, 1, 2, 3), frozenset(), (), None)),
        ("2026-01-09 00:00", (), "skip", Due((3,), frozenset(), (0, 1, 2), None)),
    ],
)
def test_what_is_due(now: str, started: tuple[int, ...], missed: str, due: Due) -> None:
    assert due_now(DAYS, at(now), frozenset(started), missed) == due


def test_waves_without_a_rhythm_are_all_due_at_once_and_none_is_late() -> None:
    moment = at("2026-01-01 00:00")
    assert due_now([moment] * 3, moment, frozenset(), "skip") == Due((0, 1, 2), frozenset(), (), None)


@given(st.lists(st.integers(-300, 300), min_size=1, max_size=30), st.sampled_from(["run", "skip"]))
def test_a_clock_that_jumps_about_starts_no_wave_before_its_time_and_finishes_what_was_started(
    hours: list[int], missed: str
) -> None:
    started: set[int] = set()
    for hour in hours:
        now = DAYS[1] + timedelta(hours=hour)
        due = due_now(DAYS, now, frozenset(started), missed)
        assert all(DAYS[wave] <= now for wave in due.run)
        assert {wave for wave in started if DAYS[wave] <= now} <= set(due.run)
        assert not set(due.skipped) & started
        started |= set(due.run)
