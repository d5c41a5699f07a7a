"""Owners: who lives, who is dead, and who cannot be judged from here."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from sandboxes.labels import (
    OWNER,
    Owner,
    is_alive,
    labelled_cores,
    labelled_deadline,
    sandbox_labels,
    start_ticks,
)
from sandboxes.reaper import is_left_over

HERE = Owner.current()


def test_this_process_lives():
    assert is_alive(HERE, HERE) is True
    assert Owner.decode(HERE.encode()) == HERE


def test_a_recycled_process_id_is_dead():
    assert is_alive(replace(HERE, start_ticks=HERE.start_ticks + 1), HERE) is False


def test_a_process_that_ended_is_dead():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        owner = replace(HERE, pid=child.pid, start_ticks=start_ticks(child.pid))
        assert is_alive(owner, HERE) is True
        child.kill()
        child.wait()
        assert is_alive(owner, HERE) is False


def test_a_zombie_is_dead():
    child = subprocess.Popen([sys.executable, "-c", ""])
    try:
        owner = replace(HERE, pid=child.pid, start_ticks=start_ticks(child.pid) or 1)
        while is_alive(owner, HERE):
            pass
    finally:
        child.wait()


def test_a_process_of_another_user_that_proc_hides_cannot_be_judged(tmp_path, monkeypatch):
    def refuse(pid, signal):
        raise PermissionError

    owner = replace(HERE, pid=1, start_ticks=7)
    assert is_alive(owner, HERE, str(tmp_path)) is False
    monkeypatch.setattr(os, "kill", refuse)
    assert is_alive(owner, HERE, str(tmp_path)) is None
    assert not is_left_over({OWNER: owner.encode()}, HERE, 1e12, str(tmp_path))


def test_who_is_elsewhere_cannot_be_judged():
    assert is_alive(replace(HERE, boot_id="other", host="other"), HERE) is None
    assert is_alive(replace(HERE, pid_namespace="pid:[1]"), HERE) is None
    assert is_alive(None, HERE) is None


def test_nothing_outlives_a_reboot():
    assert is_alive(replace(HERE, boot_id="before"), HERE) is False


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "null", "7", '{"pid": "1"}', "not json"])
def test_labels_that_are_not_ours(text):
    assert Owner.decode(text) is None


def test_an_owner_with_wrong_types_is_none():
    fields = json.loads(HERE.encode())
    assert Owner.decode(json.dumps({**fields, "pid": "1"})) is None
    assert Owner.decode(json.dumps({**fields, "boot_id": 1})) is None


def test_labels_carry_cores_and_deadline():
    labels = sandbox_labels(HERE, (3, 1), 1000.7)
    assert labels["passhat.cores"] == "1,3"
    assert labelled_cores(labels) == {1, 3}
    assert labelled_deadline(labels) == 1000
    assert labelled_cores({}) == frozenset()
    assert labelled_deadline({"passhat.deadline": "soon"}) is None


@pytest.mark.parametrize(
    ("owner", "now", "left_over"),
    [
        (HERE, 0, False),
        (HERE, 10_000, False),
        (replace(HERE, start_ticks=1), 0, True),
        (replace(HERE, boot_id="o", host="o"), 900, False),
        (replace(HERE, boot_id="o", host="o"), 1100, True),
        (replace(HERE, pid_namespace="pid:[1]"), 900, False),
        (replace(HERE, pid_namespace="pid:[1]"), 1100, True),
    ],
)
def test_what_is_left_over(owner, now, left_over):
    assert is_left_over(sandbox_labels(owner, (), 1000), HERE, now) is left_over


def test_what_is_not_ours_is_never_left_over():
    assert is_left_over({}, HERE, 1e12) is False
    assert is_left_over({"passhat.deadline": "1"}, HERE, 1e12) is False


def test_an_unreadable_owner_goes_by_its_deadline():
    labels = {"passhat.owner": "garbage", "passhat.deadline": "1000"}
    assert is_left_over(labels, HERE, 900) is False
    assert is_left_over(labels, HERE, 2000) is True
