"""Fewer containers start at once when the engine is slow, more when it is quick; over processes and their deaths."""

import multiprocessing
import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.start_gate import StartGate
from sandboxes.start_limit import FIRST, FORGOTTEN_S, MOST, SLOW_S, StartLimit


def test_a_slow_start_halves_the_limit_once_for_all_that_were_under_way():
    limit = StartLimit(16.0, 100.0, 0.0)
    slow = limit.after(100.0, 100.0 + SLOW_S + 1)
    assert slow.slots == 8
    assert slow.after(101.0, 101.0 + SLOW_S + 3) == slow
    assert slow.after(slow.lowered_at_s, slow.lowered_at_s + SLOW_S + 1).slots == 4


def test_quick_starts_raise_the_limit_by_about_one_a_round():
    limit = StartLimit(4.0, 100.0, 90.0)
    for number in range(4):
        limit = limit.after(100.0 + number, 100.5 + number)
    assert limit.slots == 4
    assert limit.after(105.0, 105.1).slots == 5


def test_what_is_neither_quick_nor_slow_changes_nothing():
    limit = StartLimit(4.0, 100.0, 90.0)
    assert limit.after(100.0, 100.0 + SLOW_S * 0.75) == limit


@pytest.mark.parametrize("now_s", [100.0 + FORGOTTEN_S + 1, 5.0])
def test_what_is_old_or_from_before_a_reboot_is_forgotten(now_s):
    assert StartLimit(2.0, 100.0, 90.0).at(now_s) == StartLimit()
    assert StartLimit(2.0, 100.0, 90.0).at(130.0).slots == 2


@given(st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 300))))
def test_at_least_one_may_always_start_and_never_more_than_the_most(starts):
    limit = StartLimit()
    for begun_s, took_s in starts:
        limit = limit.after(begun_s, begun_s + took_s)
        assert 1 <= limit.slots <= MOST


class Clock:
    """A clock that moves when told, or when somebody sleeps."""

    def __init__(self):
        self.now_s = 1000.0

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


def test_a_slow_engine_is_said_and_heard_of_by_other_processes_but_not_for_other_engines(tmp_path):
    clock, said = Clock(), []
    gate = StartGate("unix:///a", tmp_path, said.append, clock.monotonic, clock.sleep)
    with gate.turn():
        clock.now_s += SLOW_S + 1
    assert said == [
        "the engine took 7.0 s to start a container: at most 8 instead of 16 start at once on this host until it is quicker"
    ]
    assert StartGate("unix:///a", tmp_path, monotonic=clock.monotonic).limit().slots == FIRST / 2
    assert StartGate("unix:///b", tmp_path, monotonic=clock.monotonic).limit().slots == FIRST


def test_a_start_that_failed_counts_with_the_time_it_took(tmp_path):
    clock = Clock()
    gate = StartGate("unix:///a", tmp_path, monotonic=clock.monotonic, sleep=clock.sleep)

    def start():
        with gate.turn():
            clock.now_s += SLOW_S * 3
            raise OSError("refused")

    with pytest.raises(OSError, match="refused"):
        start()
    assert gate.limit().slots == FIRST / 2


def test_who_finds_no_slot_waits_until_one_is_free(tmp_path):
    clock = Clock()
    gate = StartGate("unix:///a", tmp_path, monotonic=clock.monotonic, sleep=clock.sleep)
    held = [gate.turn() for _ in range(int(FIRST))]
    for turn in held:
        turn.__enter__()

    def free_one(seconds):
        if held:
            held.pop().__exit__(None, None, None)

    late = StartGate("unix:///a", tmp_path, monotonic=clock.monotonic, sleep=free_one)
    with late.turn():
        assert len(held) == FIRST - 1
    for turn in held:
        turn.__exit__(None, None, None)


def test_garbage_in_the_state_is_taken_for_nothing_known(tmp_path):
    gate = StartGate("unix:///a", tmp_path)
    with gate.turn():
        pass
    (state,) = tmp_path.glob("starts/*/limit")
    for garbage in (b"", b"\x00\xff", b"nan 1 1\n", b"1e99 0 0\n", b"-3 0 0"):
        state.write_bytes(garbage)
        assert gate.limit().slots == FIRST


def _hold(folder, ready):
    gate = StartGate("unix:///a", folder)
    with gate.turn():
        ready.put(os.getpid())
        signal.pause()


def test_the_kernel_frees_the_slot_of_a_killed_process(tmp_path):
    context = multiprocessing.get_context("fork")
    ready = context.Queue()
    gate = StartGate("unix:///a", tmp_path)
    holders = [context.Process(target=_hold, args=(tmp_path, ready)) for _ in range(int(FIRST))]
    for holder in holders:
        holder.start()
    for _ in holders:
        ready.get(timeout=20)
    for holder in holders:
        holder.kill()
        holder.join()
    with gate.turn():
        assert gate.limit().slots >= FIRST
