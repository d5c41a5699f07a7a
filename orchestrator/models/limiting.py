"""How many requests may be with the API at once: additive increase, multiplicative decrease. Pure.

The API says with 429 and 529 that it is asked too much. Then the limit is halved and nothing is sent until
the time it named (or a doubling one of ours); every success afterwards raises the limit a little.
"""

from dataclasses import dataclass

REFUSALS = (429, 529)
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


@dataclass(slots=True)
class AdaptiveLimit:
    """Asked before a request is sent and told how it went. Times are seconds of one steady clock."""

    maximum: int = 64
    rate_per_s: float | None = None
    limit: float = 0.0
    paused_until_s: float = 0.0
    _pause_s: float = 0.0
    _next_s: float = 0.0

    def __post_init__(self) -> None:
        self.limit = float(self.maximum)

    def wait_s(self, now_s: float, in_flight: int) -> float | None:
        """0.0: send now. A number: ask again after so many seconds. None: when a request has returned."""
        if now_s < self.paused_until_s:
            return self.paused_until_s - now_s
        if in_flight >= max(int(self.limit), 1):
            return None
        return max(self._next_s - now_s, 0.0) if self.rate_per_s is not None else 0.0

    def sent(self, now_s: float) -> None:
        if self.rate_per_s is not None:
            self._next_s = max(self._next_s, now_s) + 1.0 / self.rate_per_s

    def succeeded(self) -> None:
        self._pause_s = 0.0
        self.limit = min(self.limit + 1.0 / self.limit, float(self.maximum))

    def refused(self, now_s: float, retry_after_s: float | None) -> None:
        """One halving per pause: requests that were already out when it began do not halve it again."""
        if now_s < self.paused_until_s:
            return
        self.limit = max(self.limit / 2.0, 1.0)
        self._pause_s = min(self._pause_s * 2.0 or FIRST_PAUSE_S, LONGEST_PAUSE_S)
        pause_s = self._pause_s if retry_after_s is None else min(retry_after_s, LONGEST_PAUSE_S)
        self.paused_until_s = now_s + pause_s
