"""Killing what runs in a container: everything but PID 1, whatever it did to survive."""

import time

import pytest

from sandboxes.base import Command, FileEntry
from sandboxes.resources import ResourceSpec
from tests.contract.sandbox_contract import request_for

pytestmark = pytest.mark.docker

DAEMON = """
import os, signal, sys, time
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        null = os.open("/dev/null", os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        while True:
            open("/beat", "w").write(str(time.time()))
            time.sleep(0.01)
"""
FORK_BOMB = "import os, time\nwhile True:\n  try: os.fork()\n  except OSError: time.sleep(0.001)\n"


def beats(sandbox):
    return sandbox.get("/beat")[0].data


def test_daemons_die_and_stay_dead(sandbox):
    sandbox.exec(Command(("python3", "-c", DAEMON), timeout_s=30))
    assert len(sandbox.processes()) >= 3
    assert sandbox.kill_processes() >= 3
    assert sandbox.processes() == []
    before = beats(sandbox)
    time.sleep(0.1)
    assert beats(sandbox) == before
    assert sandbox.exec(Command(("printf", "alive"))).stdout.data == b"alive"


def test_a_fork_bomb_at_its_pids_limit_dies(make):
    sandbox = make(resources=ResourceSpec(memory_mb=512, memory_limit_mb=1024, pids_limit=60))
    result = sandbox.exec(Command(("python3", "-c", FORK_BOMB), timeout_s=1.5))
    assert result.timed_out
    sandbox.kill_processes()
    assert sandbox.processes() == []
    assert sandbox.counters().pids_limit_hits > 0
    assert sandbox.exec(Command(("printf", "alive"))).stdout.data == b"alive"


def test_replaced_programs_do_not_save_anybody(sandbox):
    liar = b"#!/usr/bin/python3\nimport time\ntime.sleep(1000)\n"
    sandbox.exec(Command(("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 &")))
    names = ["bash", "sh", "dash", "kill", "sleep", "ps", "env"]
    sandbox.put([FileEntry(f"/usr/bin/{name}", liar, mode=0o755) for name in names])
    assert sandbox.kill_processes() >= 1
    assert sandbox.processes() == []


def test_a_stopped_process_dies(sandbox):
    sandbox.exec(Command(("sh", "-c", "sleep 1000 >/dev/null 2>&1 & kill -STOP $!")))
    assert sandbox.kill_processes() == 1
    assert sandbox.processes() == []


def test_orphans_are_reaped_and_leave_room(make):
    sandbox = make(resources=ResourceSpec(memory_mb=256, memory_limit_mb=256, pids_limit=30))
    for _ in range(3):
        script = "for i in $(seq 20); do (setsid true &) ; done; sleep 0.2"
        assert sandbox.exec(Command(("sh", "-c", script), timeout_s=30)).exit_code == 0
    assert sandbox.counters().pids_limit_hits == 0


def test_a_timeout_kills_the_tree_of_the_command(sandbox):
    script = "(sleep 1001; true) & sleep 1002 & sh -c 'sleep 1003; true'"
    result = sandbox.exec(Command(("sh", "-c", script), timeout_s=0.5))
    assert result.timed_out
    assert sandbox.processes() == []


def test_a_timeout_spares_what_earlier_commands_left(seen_from_the_host, base_image):
    sandbox = seen_from_the_host.create(request_for(base_image))
    try:
        sandbox.exec(Command(("sh", "-c", "setsid sleep 1001 >/dev/null 2>&1 &")))
        assert sandbox.exec(Command(("sleep", "1002"), timeout_s=0.3)).timed_out
        assert sandbox.processes() == ["sleep 1001"]
    finally:
        sandbox.remove()
