"""`passhat run` in a process of its own, with a clock that can jump by PASSHAT_FAULTS_JUMP_S after a second."""

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.execution.running import Request, run_due
from tests.hostile.attack import Silent

BEGUN_S = time.monotonic()


def now() -> datetime:
    """The time, and from five seconds on the time of a clock that was set."""
    jump_s = float(os.environ.get("PASSHAT_FAULTS_JUMP_S", "0"))
    moved = timedelta(seconds=jump_s if time.monotonic() - BEGUN_S > 5.0 else 0.0)
    return datetime.now(UTC) + moved


if __name__ == "__main__":
    sys.exit(run_due(Request(sweep=Path(sys.argv[1]), cpus=2), Silent, now=now))
