"""A suite arrives on a node as it was, once, and a copy that is not the plan's runs nothing."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.execution.shipping import UNUSED_S, ShippingError, pack, unpack, with_shipped_suite
from suites.loading import load_suite
from tests.builders import make_task
from tests.contract.cluster_contract import FACTS, make_assignment, open_worker


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    make_task(tmp_path / "suite" / "one", '[environment]\ndocker_image = "x:1"\n', {"tests/test.sh": "true\n"})
    script = tmp_path / "suite" / "one" / "tests" / "test.sh"
    script.chmod(0o755)
    (tmp_path / "suite" / "one" / "link").symlink_to("tests/test.sh")
    (tmp_path / "suite" / "__pycache__").mkdir()
    return tmp_path / "suite"


def test_a_copy_has_the_digests_modes_and_links_of_the_original(suite: Path, tmp_path: Path) -> None:
    there = unpack(pack(suite), tmp_path / "cache")
    assert there.name == "suite"
    assert load_suite(there).digest == load_suite(suite).digest
    assert os.access(there / "one" / "tests" / "test.sh", os.X_OK)
    assert os.readlink(there / "one" / "link") == "tests/test.sh"
    assert not (there / "__pycache__").exists()


def test_the_same_content_is_unpacked_once_and_old_copies_go(suite: Path, tmp_path: Path) -> None:
    data, cache = pack(suite), tmp_path / "cache"
    first = unpack(data, cache, now=lambda: 1000.0)
    os.utime(suite / "one" / "task.toml")
    assert pack(suite) == data
    assert unpack(data, cache, now=lambda: 2000.0) == first
    (suite / "one" / "more").write_text("x")
    second = unpack(pack(suite), cache, now=lambda: 2001.0 + UNUSED_S)
    assert second != first
    assert not first.exists()
    assert [p.parent for p in (second,)] == list(cache.iterdir())


def test_a_torn_archive_is_told(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(ShippingError, match="cannot be unpacked"):
        unpack(pack(suite)[:-20], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_only_the_task_of_the_plan_is_run(suite: Path, tmp_path: Path) -> None:
    task = load_suite(suite).tasks[0]
    worker = with_shipped_suite(open_worker(FACTS), pack(suite), {"XDG_CACHE_HOME": str(tmp_path / "c")})
    assignment = replace(make_assignment(0), task=task)
    assert worker.run(assignment).row["status"] == "PASSED"
    with pytest.raises(ShippingError, match="is not the one that was sent"):
        worker.run(replace(assignment, task=replace(task, digest="0" * 64)))
