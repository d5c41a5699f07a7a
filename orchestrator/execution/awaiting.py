"""Whether a sweep waits for a node that is not there yet, what is said of it, and when it has waited long enough.

Pure: it is told at every turn what is pending, what there is and what time it is.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from orchestrator.core.dispatch import Shape
from orchestrator.execution.cluster import Capacity


@dataclass(slots=True)
class AwaitedNodes:
    """`patience_s`: how long a sweep waits that has nothing else to do; None: nodes do not come, so it never waits."""

    patience_s: float | None
    _told: set[Shape] = field(default_factory=set)
    _since_s: float | None = None

    def look(
        self, pending: Collection[Shape], running: bool, capacity: Capacity, now_s: float
    ) -> tuple[list[str], str | None]:
        """What is to be said now, once for each shape that no node can take; and why the sweep is to stop, or None."""
        if self.patience_s is None:
            return [], None
        misfits = {shape: why for shape in pending if (why := capacity.misfit(shape)) is not None}
        new = misfits.keys() - self._told
        self._told |= new
        said = [f"trials wait for a node that is not there yet: {misfits[shape]}" for shape in new]
        if running or not misfits or len(misfits) < len(pending):
            self._since_s = None
            return said, None
        self._since_s = now_s if self._since_s is None else self._since_s
        if now_s - self._since_s < self.patience_s:
            return said, None
        return said, f"no node came in {self.patience_s / 60:.0f} minutes: {next(iter(misfits.values()))}"
