"""How many containers may start at once, from how long the last ones took. Pure: no clock, no lock, no engine.

Additive increase, multiplicative decrease, as TCP does it: a start that took longer than SLOW_S halves the
number, one that took less than half of that adds a little. A round of starts that were all under way together
counts once: those that began before the last decrease tell nothing new.
"""

from dataclasses import dataclass

SLOW_S = 6.0
"""Far below the shortest time-out of ours on the way to a running container (30 s for PID 1)."""
FIRST = 16.0
MOST = 64.0
FORGOTTEN_S = 900.0


@dataclass(frozen=True, slots=True)
class StartLimit:
    """`allowed` containers may start at once; `judged_at_s`, `lowered_at_s`: on the host's monotonic clock."""

    allowed: float = FIRST
    judged_at_s: float = 0.0
    lowered_at_s: float = 0.0

    @property
    def slots(self) -> int:
        return max(1, int(self.allowed))

    def after(self, begun_at_s: float, ended_at_s: float) -> "StartLimit":
        """The limit once a start that took from `begun_at_s` to `ended_at_s` is known, whether it worked or not."""
        took_s = ended_at_s - begun_at_s
        if took_s > SLOW_S:
            if begun_at_s < self.lowered_at_s:
                return self
            return StartLimit(max(1.0, self.allowed / 2), ended_at_s, ended_at_s)
        if took_s > SLOW_S / 2:
            return self
        return StartLimit(min(MOST, self.allowed + 1.0 / self.allowed), ended_at_s, self.lowered_at_s)

    def at(self, now_s: float) -> "StartLimit":
        """The limit as it stands now: what is old, or from before a reboot, is forgotten."""
        fresh = 0.0 <= now_s - self.judged_at_s <= FORGOTTEN_S and self.lowered_at_s <= now_s
        return self if fresh and 1.0 <= self.allowed <= MOST else StartLimit()
