"""The schedule of a sweep file as the pure schedule computes with it."""

from datetime import UTC, datetime

from orchestrator.config import ConfigError, SweepConfig
from orchestrator.core.waves import Rhythm


def rhythm_of(config: SweepConfig) -> Rhythm:
    """The schedule's waves. Raises ConfigError for a start that is no time."""
    schedule = config.schedule
    start = None
    if schedule.start is not None:
        try:
            start = datetime.fromisoformat(schedule.start)
        except ValueError:
            raise ConfigError(f"schedule.start = {schedule.start!r} is not a time; write 2026-12-01T03:00") from None
        start = start if start.tzinfo else start.replace(tzinfo=UTC)
    return Rhythm(schedule.waves, schedule.every, schedule.at, schedule.cron, start, schedule.timezone)
