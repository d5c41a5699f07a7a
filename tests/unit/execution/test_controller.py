"""A controller has a last word, tries again what may pass, and can be stopped between waves."""

from collections.abc import Callable

import pytest

from orchestrator.config import ConfigError
from orchestrator.execution.controller import GIVE_UP_S, Controller, Watching
from orchestrator.execution.hands import Reins
from orchestrator.storage.reading import ResultsError
from orchestrator.storage.remote_journal import ReplacedError


def ending(*ways: Exception | int) -> Callable[[Reins, Watching], int]:
    left = list(ways)

    def carry_out(reins: Reins, watching: Watching) -> int:
        way = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(way, Exception):
            raise way
        return way

    return carry_out


def disk_full() -> ResultsError:
    error = ResultsError("results cannot be written: no space left")
    error.__cause__ = OSError(28, "no space left")
    return error


@pytest.mark.parametrize("way", [OSError("the store is away"), disk_full()])
def test_what_may_pass_is_tried_again_with_longer_waits(way: Exception) -> None:
    waits: list[float] = []
    controller = Controller(ending(way, way, way, 0), waits.append)
    controller.run()
    last = controller.snapshot()
    assert (last.state, last.code, waits) == ("ended", 0, [1.0, 2.0, 5.0])
    assert len(last.messages) == 3
    assert "tried again in 1 s" in last.messages[0][1]


def test_it_is_given_up_after_an_hour() -> None:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    controller = Controller(ending(OSError("the store is away")), sleep, lambda: clock[0])
    controller.run()
    assert (controller.snapshot().state, controller.snapshot().code) == ("failed", 2)
    assert GIVE_UP_S <= clock[0] <= GIVE_UP_S + 61


def test_the_hour_begins_anew_after_it_worked_for_a_while() -> None:
    clock, calls = [0.0], [0]

    def carry_out(reins: Reins, watching: Watching) -> int:
        calls[0] += 1
        if calls[0] == 4:
            return 0
        clock[0] += 5 * GIVE_UP_S
        raise OSError("the store is away")

    controller = Controller(carry_out, lambda _: None, lambda: clock[0])
    controller.run()
    assert (controller.snapshot().state, calls[0]) == ("ended", 4)


@pytest.mark.parametrize(
    ("way", "state", "code"),
    [
        (ConfigError("the plan changed"), "failed", 2),
        (ReplacedError("another took over"), "replaced", None),
        (1, "ended", 1),
    ],
)
def test_anything_else_is_its_last_word(way: Exception | int, state: str, code: int | None) -> None:
    controller = Controller(ending(way), lambda _: pytest.fail("it waited"))
    controller.run()
    last = controller.snapshot()
    assert (last.state, last.code, last.over) == (state, code, True)
    if isinstance(way, Exception):
        assert [text for _, text in last.messages] == [str(way)]


class Stoppable:
    """In a driver's place."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def stop(self, reason: str) -> None:
        self.heard.append(f"stop {reason}")

    def abort(self, reason: str) -> None:
        self.heard.append(f"abort {reason}")


def test_a_driver_that_starts_after_the_stop_is_stopped_too() -> None:
    reins, first, second = Reins(), Stoppable(), Stoppable()
    reins.take(first)
    reins.stop()
    reins.take(second)
    reins.stop(at_once=True)
    assert first.heard == ["stop interrupted: cancelled"]
    assert second.heard == ["stop interrupted: cancelled", "abort interrupted: cancelled at once"]
    assert reins.let_go
