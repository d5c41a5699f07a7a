"""Waiting for an engine that is being restarted, and what it may have kept of ours meanwhile. Knows no trial."""

import time
from collections.abc import Callable

from sandboxes.base import EngineUnavailableError
from sandboxes.docker import DockerProvider

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0


def await_engine(
    provider: DockerProvider,
    timeout_s: float,
    say: Callable[[str], None] = lambda _: None,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Return once the engine answers; True when it had to be waited for, which is said.

    After a failure everything known of the engine is asked anew. Raises EngineUnavailableError when it stays
    away for more than `timeout_s`.
    """
    begun_s, pause_s = monotonic(), FIRST_PAUSE_S
    waited = False
    while True:
        try:
            provider.ping()
        except EngineUnavailableError as error:
            waited = True
            provider.close()
            if monotonic() - begun_s >= timeout_s:
                raise EngineUnavailableError(f"{error}; it was waited for {timeout_s:.0f} s") from error
            sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        else:
            break
    if waited:
        say(f"the engine did not answer; it does again after {monotonic() - begun_s:.1f} s")
    return waited
