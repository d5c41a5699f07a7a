"""An engine that is away is waited for, with longer and longer pauses, and not for ever."""

import pytest

from sandboxes.base import EngineUnavailableError
from sandboxes.engine_wait import LONGEST_PAUSE_S, await_engine


class Engine:
    """Stands for a provider whose engine answers from a moment on."""

    def __init__(self, back_at_s):
        self.back_at_s, self.now_s, self.pauses, self.closed = back_at_s, 0.0, [], 0

    def ping(self):
        if self.now_s < self.back_at_s:
            raise EngineUnavailableError("no Docker engine answers")

    def close(self):
        self.closed += 1

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now_s += seconds


def wait(engine, timeout_s, said):
    return await_engine(engine, timeout_s, said.append, engine.monotonic, engine.sleep)


def test_an_engine_that_answers_is_not_waited_for_and_nothing_is_said():
    engine, said = Engine(0.0), []
    assert wait(engine, 600.0, said) is False
    assert (engine.pauses, engine.closed, said) == ([], 0, [])


def test_an_engine_that_comes_back_is_waited_for_and_connected_to_anew():
    engine, said = Engine(30.0), []
    assert wait(engine, 600.0, said) is True
    assert engine.pauses == sorted(engine.pauses)
    assert max(engine.pauses) == LONGEST_PAUSE_S
    assert engine.closed == len(engine.pauses)
    assert len(said) == 1
    assert said[0].startswith("the engine did not answer; it does again after 3")


def test_an_engine_that_stays_away_is_named_with_how_long_it_was_waited_for():
    engine = Engine(1e9)
    with pytest.raises(EngineUnavailableError, match=r"no Docker engine answers; it was waited for 60 s"):
        wait(engine, 60.0, [])
    assert 60.0 <= engine.now_s <= 63.0
