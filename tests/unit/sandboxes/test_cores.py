"""No core is held twice: in one process, over many, and when holders die."""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sandboxes.base import SandboxError
from sandboxes.cores import CoreAllocator


class Holds(RuleBasedStateMachine):
    """Several allocators on one folder take and release in any order."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name)
        self._allocators = [CoreAllocator(path, cores) for cores in (range(4), range(2, 6), range(4))]
        self._holds = []

    @rule(which=st.integers(0, 2), count=st.integers(1, 4))
    def take(self, which, count):
        allocator = self._allocators[which]
        hold = allocator.try_take(count)
        if hold is None:
            mine = set(range(2, 6)) if which == 1 else set(range(4))
            assert len(mine - self._held()) < count
        else:
            assert len(hold.cores) == count
            self._holds.append(hold)

    @rule(number=st.integers(0, 20))
    def release(self, number):
        if self._holds:
            self._holds.pop(number % len(self._holds)).release()

    def _held(self):
        return {core for hold in self._holds for core in hold.cores}

    @invariant()
    def no_core_is_held_twice(self):
        held = [core for hold in self._holds for core in hold.cores]
        assert len(held) == len(set(held))

    def teardown(self):
        for hold in self._holds:
            hold.release()
        self._folder.cleanup()


TestHolds = Holds.TestCase
TestHolds.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def hold_in_turns(folder, rounds, failures):
    """Takes cores and marks each with a file that must not exist: two holders would meet there."""
    allocator = CoreAllocator(Path(folder), range(3))
    for number in range(rounds):
        with allocator.take(1 + number % 2, timeout_s=60) as hold:
            for core in hold.cores:
                try:
                    os.close(os.open(f"{folder}/in-use-{core}", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    failures.value += 1
            for core in hold.cores:
                os.unlink(f"{folder}/in-use-{core}")


def test_processes_never_meet_on_a_core(tmp_path):
    context = multiprocessing.get_context("spawn")
    failures = context.Value("i", 0)
    workers = [context.Process(target=hold_in_turns, args=(str(tmp_path), 40, failures)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    assert failures.value == 0


HOLDER = """
import sys, time
from pathlib import Path
from sandboxes.cores import CoreAllocator
hold = CoreAllocator(Path(sys.argv[1]), range(2)).take(2)
print("held", flush=True)
time.sleep(600)
"""


def test_a_killed_holder_frees_its_cores(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        allocator = CoreAllocator(tmp_path, range(2))
        assert allocator.try_take(1) is None
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with allocator.take(2, timeout_s=10) as hold:
            assert hold.cores == (0, 1)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_programs_started_meanwhile_do_not_inherit_a_core(tmp_path):
    allocator = CoreAllocator(tmp_path, range(1))
    hold = allocator.take(1)
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        hold.release()
        with allocator.take(1, timeout_s=5) as again:
            assert again.cores == (0,)
        child.kill()


def test_all_or_none(tmp_path):
    allocator = CoreAllocator(tmp_path, range(3))
    with allocator.take(2):
        assert allocator.try_take(2) is None
        with allocator.take(1) as rest:
            assert rest.cores == (2,)


def test_more_than_there_are_is_refused_at_once(tmp_path):
    with pytest.raises(SandboxError, match=r"5 exclusive cores were asked for, and this host gives 3"):
        CoreAllocator(tmp_path, range(3)).take(5)


def test_waiting_ends(tmp_path):
    allocator = CoreAllocator(tmp_path, range(1))
    with allocator.take(1), pytest.raises(SandboxError, match="became free"):
        allocator.take(1, timeout_s=0.1)


def test_whoever_takes_a_core_cleans_it_first_and_passes_by_a_busy_one(tmp_path):
    cleaned = []

    def clean(cores):
        cleaned.append(cores)
        return cores & {1}

    allocator = CoreAllocator(tmp_path, range(3), clean)
    with allocator.take(2) as hold:
        assert hold.cores == (0, 2)
    assert cleaned == [frozenset({0}), frozenset({1}), frozenset({2})]
    with CoreAllocator(tmp_path, [1]).take(1, timeout_s=1) as free_again:
        assert free_again.cores == (1,)


def test_a_cleaner_that_fails_gives_everything_back(tmp_path):
    def clean(cores):
        raise SandboxError("the engine does not answer")

    with pytest.raises(SandboxError, match="does not answer"):
        CoreAllocator(tmp_path, range(2), clean).take(1)
    assert CoreAllocator(tmp_path, range(2)).take(2, timeout_s=1).cores == (0, 1)


def test_lock_files_are_open_to_every_user(tmp_path):
    folder = tmp_path / "locks"
    with CoreAllocator(folder, range(1)).take(1):
        assert (folder / "cores").stat().st_mode & 0o7777 == 0o1777
        assert (folder / "cores" / "core-0").stat().st_mode & 0o777 == 0o666


@given(st.lists(st.integers(0, 63), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None)
def test_cores_are_those_it_was_given(cores):
    with tempfile.TemporaryDirectory() as folder:
        allocator = CoreAllocator(Path(folder), cores)
        assert allocator.size == len(set(cores))
        with allocator.take(allocator.size) as hold:
            assert hold.cores == tuple(sorted(set(cores)))
