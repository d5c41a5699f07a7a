"""When the waves of a sweep are due, and which of them are to run now. Pure: the clock is an argument.

Design. Due times follow from the moment the plan was frozen and the schedule, and are never stored: a call
at any time, late, twice at once or after days of silence computes the same ones. A wave is missed when the
next wave's time has come before it was started; the schedule says whether it is then run late (and marked)
or skipped. What has been started is always finished.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class ScheduleError(ValueError):
    """A schedule that cannot be computed; the message is what a person reads."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """`every` such as "1d" with optional wall-clock times `at`, or a `cron` expression; in a time zone."""

    waves: int
    every: str | None = None
    at: tuple[str, ...] = ()
    cron: str | None = None
    start: datetime | None = None
    timezone: str = "UTC"


def due_times(rhythm: Rhythm, frozen_at: datetime) -> list[datetime]:
    """UTC due time of each wave, in order; the first is never before the plan was frozen.

    Wall-clock times keep their hour over a change of daylight saving time; a time that does not exist on
    that day is taken one hour later. Raises ScheduleError.
    """
    first = max(rhythm.start, frozen_at) if rhythm.start else frozen_at
    try:
        zone = ZoneInfo(rhythm.timezone)
    except (KeyError, ValueError, OSError):
        raise ScheduleError(
            f"timezone {rhythm.timezone!r} is not known; use a name such as Europe/Berlin or UTC"
        ) from None
    if rhythm.cron is not None:
        return _by_cron(rhythm.cron, first.astimezone(zone), rhythm.waves)
    if rhythm.at:
        return _by_wall_clock(rhythm, first.astimezone(zone), zone)
    if rhythm.every is None:
        return [first.astimezone(UTC)] * rhythm.waves
    step = interval(rhythm.every)
    local = first.astimezone(zone)
    if step % timedelta(days=1):
        return [(first + step * i).astimezone(UTC) for i in range(rhythm.waves)]
    later = [_resolve(local.replace(tzinfo=None) + step * i, zone) for i in range(1, rhythm.waves)]
    return [first.astimezone(UTC), *later]


def interval(every: str) -> timedelta:
    """ "15m", "6h", "1d", "1w" as a time span. Raises ScheduleError."""
    match = re.fullmatch(r"([1-9][0-9]*)([mhdw])", every)
    if not match:
        raise ScheduleError(f"every = {every!r} is not a time span; write for example 6h, 1d or 1w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _by_cron(expression: str, first: datetime, waves: int) -> list[datetime]:
    try:
        found = list(islice(CronSim(expression, first - timedelta(minutes=1)), waves))
    except CronSimError as error:
        raise ScheduleError(
            f"cron = {expression!r} is not a cron expression ({error}); for example 0 3 * * *"
        ) from None
    if len(found) < waves:
        raise ScheduleError(f"cron = {expression!r} comes due only {len(found)} times, {waves} waves were asked for")
    return [moment.astimezone(UTC) for moment in found]


def _by_wall_clock(rhythm: Rhythm, first: datetime, zone: ZoneInfo) -> list[datetime]:
    step = interval(rhythm.every or "1d")
    if step % timedelta(days=1):
        raise ScheduleError(f"at = {list(rhythm.at)} needs every to be whole days, it is {rhythm.every!r}")
    times = sorted(tuple(map(int, moment.split(":"))) for moment in rhythm.at)
    found: list[datetime] = []
    day = first.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    while len(found) < rhythm.waves:
        for moment in sorted(_resolve(day.replace(hour=hour, minute=minute), zone) for hour, minute in times):
            if moment >= first.astimezone(UTC).replace(second=0, microsecond=0):
                found.append(moment)
        day += step
    return found[: rhythm.waves]


def _resolve(wall: datetime, zone: ZoneInfo) -> datetime:
    """A wall-clock time in UTC; the earlier one when it comes twice."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Due:
    """What to do now. `late`: waves among `run` whose time had passed; `next_at`: None after the last."""

    run: tuple[int, ...]
    late: frozenset[int]
    skipped: tuple[int, ...]
    next_at: datetime | None


def due_now(times: Sequence[datetime], now: datetime, started: frozenset[int], missed: str) -> Due:
    """Which waves are to run at `now`. `started`: waves that have rows. `missed`: "run" or "skip"."""
    run, late, skipped = [], set(), []
    for wave, moment in enumerate(times):
        if moment > now:
            break
        overtaken = wave + 1 < len(times) and times[wave + 1] <= now and times[wave + 1] > moment
        if overtaken and wave not in started:
            if missed == "skip":
                skipped.append(wave)
                continue
            late.add(wave)
        run.append(wave)
    future = [moment for moment in times if moment > now]
    return Due(tuple(run), frozenset(late), tuple(skipped), future[0] if future else None)
