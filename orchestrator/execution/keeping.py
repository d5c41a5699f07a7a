"""A worker that outlives its controller: it goes on with its attempt, and keeps what it has not handed over.

Design. The controller gives an attempt by `run` and hears its outcome as that call's result. When the controller
dies, the result has nobody to go to; so the worker keeps the outcome of each attempt until the controller says,
with the next `run`, that the row is durable. A controller that is started again asks every worker of its sweep
what it holds: outcomes it finished meanwhile, and the attempt it has under way, which `outcome` waits for.

A worker ends itself when its controller has been gone for long, later when it still keeps outcomes.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from orchestrator.core.dispatch import Shape
from orchestrator.execution.assignment import Assignment, Outcome, begun_fields
from orchestrator.execution.worker import Serving

ORPHAN_S = 900.0
ORPHAN_WITH_OUTCOMES_S = 86_400.0
LOOK_S = 30.0


@dataclass(frozen=True, slots=True)
class Held:
    """What a worker has: `begun` as in the journal of the attempt under way, and outcomes by attempt id."""

    shape: Shape
    begun: Mapping[str, object] | None
    finished: Mapping[str, tuple[Mapping[str, object], Outcome]]


class KeepingWorker:
    """A Worker whose outcomes are kept. `run` is called by one thread at a time, the rest by any."""

    def __init__(self, worker: Serving, shape: Shape) -> None:
        self._worker, self._shape = worker, shape
        self._changed = threading.Condition()
        self._begun: Mapping[str, object] | None = None
        self._finished: dict[str, tuple[Mapping[str, object], Outcome]] = {}

    def run(self, assignment: Assignment, durable: Iterable[str] = ()) -> Outcome:
        """One attempt; `durable`: attempts whose outcomes need not be kept any more."""
        begun = begun_fields(assignment)
        with self._changed:
            for attempt in durable:
                self._finished.pop(attempt, None)
            self._begun = begun
        try:
            outcome = self._worker.run(assignment)
            with self._changed:
                self._finished[assignment.attempt_id] = (begun, outcome)
        finally:
            with self._changed:
                self._begun = None
                self._changed.notify_all()
        return outcome

    def held(self) -> Held:
        with self._changed:
            return Held(self._shape, self._begun, dict(self._finished))

    def outcome(self, attempt: str) -> Outcome:
        """Wait for the attempt under way. Raises RuntimeError when the worker failed at it, or never had it."""
        with self._changed:
            self._changed.wait_for(lambda: self._begun is None or self._begun["attempt_id"] != attempt)
            if attempt not in self._finished:
                raise RuntimeError(f"this worker has no outcome of attempt {attempt}")
            return self._finished[attempt][1]

    @property
    def idle(self) -> bool:
        return self._begun is None

    @property
    def keeps(self) -> bool:
        return bool(self._finished)


def end_when_orphaned(
    worker: KeepingWorker,
    controller_lives: Callable[[], bool],
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    end: Callable[[], None] = lambda: os._exit(0),
) -> None:
    """Look now and then; end this process when it has been idle and without a controller for long."""
    end_when_alone(
        lambda: controller_lives() or not worker.idle,
        end,
        lambda: ORPHAN_WITH_OUTCOMES_S if worker.keeps else ORPHAN_S,
        monotonic,
        sleep,
    )


def end_when_alone(
    needed: Callable[[], bool],
    end: Callable[[], None],
    patience_s: Callable[[], float] = lambda: ORPHAN_S,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Look now and then; end once nobody has needed this process for so long."""
    since: float | None = None
    while True:
        sleep(LOOK_S)
        if needed():
            since = None
            continue
        since = monotonic() if since is None else since
        if monotonic() - since >= patience_s():
            end()
            return
