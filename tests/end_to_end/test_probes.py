"""One sweep of probe tasks through the real command line: every ending is a row, and the row says what was so."""

import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from orchestrator.core.columns import COLUMNS, GROUPS, PARTITION_KEYS
from tests.builders import IMAGE, make_task
from tests.end_to_end.command_line import assert_complete, containers, passhat, rows
from tests.end_to_end.conftest import SWEEP, copy_probes

pytestmark = [pytest.mark.docker, pytest.mark.ray]

COUNT_TICKS = """#!/bin/bash
before=$(wc -l < /tmp/ticks); sleep 2.5; after=$(wc -l < /tmp/ticks)
alive=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'solve[.]sh')
echo "{\\"reward\\": 1, \\"before\\": $before, \\"grown\\": $((after - before)), \\"alive\\": $alive}" \
  > /logs/verifier/reward.json
"""
LEAVE_A_DAEMON = """#!/usr/bin/env python3
import os, time
assert 'solve.sh' in open('/proc/self/cmdline').read()
if os.fork():
    os.wait()
    while not os.path.exists('/tmp/ticks'):
        time.sleep(0.05)
    raise SystemExit
os.setsid()
if os.fork():
    os._exit(0)
for number in range(3000):
    with open('/tmp/ticks', 'a') as ticks:
        ticks.write('tick\\n')
    time.sleep(0.2)
"""
COUNT_INTERFACES = """#!/bin/bash
others=$(ls /sys/class/net | grep -vcx lo)
echo "{\\"reward\\": 1, \\"interfaces\\": $others}" > /logs/verifier/reward.json
"""
BOTH_STEPS = """#!/bin/bash
[ "$(cat /srv/x)" = "$(printf 'one\\ntwo')" ] && [ -e /srv/setup-ran ] && echo 1 > /logs/verifier/reward.txt
"""
HEALTHY_AT_THE_THIRD_LOOK = """
[environment.healthcheck]
command = "echo look >> /tmp/looks; [ $(wc -l < /tmp/looks) -ge 3 ]"
interval_sec = 0.05
"""
NEVER_HEALTHY = """
[environment.healthcheck]
command = "echo still starting; false"
interval_sec = 0.05
retries = 2
"""
COUNT_LOOKS = """#!/bin/bash
echo "{\\"reward\\": 1, \\"looks\\": $(wc -l < /tmp/looks)}" > /logs/verifier/reward.json
"""
SETTINGS = """
[[resources]]
name = "exclusive"
pinned = true
[[resources]]
name = "shared"
"""
TASKS = 13


def write_suite(suite: Path) -> None:
    copy_probes(suite, "noop", "oom", "sleepy", "noreward", "offline", "multi", "slowbuild")
    (suite / "sleepy" / "tests" / "test.sh").write_text(COUNT_TICKS)
    (suite / "offline" / "tests" / "test.sh").write_text(COUNT_INTERFACES)
    (suite / "multi" / "steps" / "two" / "tests" / "test.sh").write_text(BOTH_STEPS)
    daemon = {"solution/solve.sh": LEAVE_A_DAEMON, "tests/test.sh": COUNT_TICKS}
    make_task(suite / "daemon", files=daemon)
    make_task(suite / "never-rewards", files={"tests/test.sh": "#!/bin/bash\ntrue\n"})
    make_task(suite / "slow-start", IMAGE + HEALTHY_AT_THE_THIRD_LOOK, {"tests/test.sh": COUNT_LOOKS})
    make_task(suite / "never-up", IMAGE + NEVER_HEALTHY)
    make_task(suite / "giant", IMAGE + "cpus = 4000\n")
    broken = {"environment/Dockerfile": "FROM conformance-base:latest\nRUN echo words-before-the-end && exit 3\n"}
    make_task(suite / "broken-build", "", broken)


@pytest.fixture(scope="module")
def ran(
    tmp_path_factory: pytest.TempPathFactory, conformance_image: str
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The folder of the sweep after it ran, and what the command said."""
    folder = tmp_path_factory.mktemp("probes")
    write_suite(folder / "suite")
    sweep = folder / "sweep.toml"
    sweep.write_text(SWEEP.format(repeats=1) + SETTINGS)
    return folder, passhat("run", sweep)


@pytest.fixture(scope="module")
def found(ran: tuple[Path, object]) -> list[dict[str, Any]]:
    return rows(ran[0] / "results")


@pytest.fixture
def of_task(found: list[dict[str, Any]]):
    """The final rows of a task, one for each resource setting."""

    def pick(task: str) -> list[dict[str, Any]]:
        picked = [row for row in found if row["task"] == task and row["final"]]
        assert {row["resources"] for row in picked} == {"exclusive", "shared"}
        return picked

    return pick


def test_every_planned_trial_is_settled_once_and_no_container_is_left(ran, found) -> None:
    assert len([row for row in found if row["final"]]) == 2 * TASKS
    assert len({row["attempt_id"] for row in found}) == len(found)
    assert_complete([row for row in found if row["task"] in ("noop", "oom", "sleepy", "multi")], 8)
    assert containers(ran[0] / "results") == []


def test_trials_without_a_verdict_give_exit_code_1_and_no_traceback(ran) -> None:
    assert ran[1].returncode == 1
    assert "Traceback" not in ran[1].stdout + ran[1].stderr


def test_a_task_that_does_nothing_much_passes(of_task) -> None:
    for row in of_task("noop"):
        assert (row["status"], row["passed"], row["score"], row["attempt"]) == ("PASSED", True, 1.0, 0)


def test_a_memory_hog_under_its_limit_is_out_of_memory_with_a_count(of_task) -> None:
    for row in of_task("oom"):
        assert (row["status"], row["origin"], row["passed"]) == ("OUT_OF_MEMORY", "resources", False)
        assert row["used_oom_kills"] > 0
        assert row["effective_memory_limit_bytes"] == row["requested_memory_limit_bytes"] == 64 * 2**20
        assert row["effective_cgroup_memory_limit_bytes"] == 64 * 2**20
        assert 32 * 2**20 < row["used_memory_peak_bytes"] <= 64 * 2**20


def test_an_agent_at_its_timeout_is_dead_while_it_is_graded(of_task) -> None:
    for row in of_task("sleepy"):
        assert (row["status"], row["agent_ending"]) == ("PASSED", "timeout")
        assert row["rewards"]["before"] > 0
        assert (row["rewards"]["grown"], row["rewards"]["alive"]) == (0, 0)


def test_what_an_agent_forked_away_from_itself_is_dead_while_it_is_graded(of_task) -> None:
    for row in of_task("daemon"):
        assert (row["status"], row["agent_ending"]) == ("PASSED", "finished")
        assert row["rewards"]["before"] > 0
        assert (row["rewards"]["grown"], row["rewards"]["alive"]) == (0, 0)


def test_pinned_cores_are_what_the_container_sees(found) -> None:
    ran_at_all = [row for row in found if row["effective_cpus_allowed"] is not None]
    pinned = [row for row in ran_at_all if row["resources"] == "exclusive"]
    assert {row["task"] for row in pinned} >= {"noop", "oom", "sleepy", "multi", "offline"}
    for row in pinned:
        assert row["requested_pinned"]
        assert row["effective_cpus_allowed"] == row["effective_cpuset"]
        assert row["effective_cpus_quota"] is None
        assert row["cores_wait_s"] is not None


def test_shared_cores_have_a_quota_and_no_cpuset(of_task) -> None:
    (row,) = (row for row in of_task("noop") if row["resources"] == "shared")
    assert (row["effective_cpus_quota"], row["requested_pinned"]) == (1.0, False)
    assert not row["effective_cpuset"]


def test_an_agent_starts_only_when_the_health_check_passes(of_task) -> None:
    for row in of_task("slow-start"):
        assert (row["status"], row["rewards"]["looks"]) == ("PASSED", 3.0)
        assert row["healthcheck_s"] > 0.1
    for row in of_task("never-up"):
        assert (row["status"], row["failure_phase"]) == ("SANDBOX_ERROR", "healthcheck")
        assert "failed 2 time(s): exit code 1 still starting" in row["failure_message"]
        assert row["agent_s"] is None


def test_a_missing_reward_is_never_a_score(found) -> None:
    for row in found:
        if row["task"] == "noreward":
            seen = (row["status"], row["score"], row["passed"])
            assert seen in [("PASSED", 1.0, True), ("GRADER_ERROR", None, None)]
    missing = [row for row in found if row["task"] == "never-rewards"]
    assert len(missing) == 4
    for row in missing:
        assert (row["status"], row["origin"]) == ("GRADER_ERROR", "infrastructure")
        assert (row["score"], row["passed"]) == (None, None)
        assert row["failure_message"]


def test_a_task_without_network_has_none(of_task) -> None:
    for row in of_task("offline"):
        assert (row["status"], row["requested_network"], row["effective_network"]) == ("PASSED", "none", "none")
        assert row["rewards"]["interfaces"] == 0


def test_both_steps_of_a_task_run_in_one_container(of_task) -> None:
    for row in of_task("multi"):
        assert (row["status"], row["score"]) == ("PASSED", 1.0)


def test_an_image_is_built_from_its_recipe(of_task) -> None:
    built = of_task("slowbuild")
    assert [row["status"] for row in built] == ["PASSED", "PASSED"]
    assert {row["image_digest_kind"] for row in built} == {"recipe"}
    assert len({row["image_digest"] for row in built}) == len({row["image_engine_id"] for row in built}) == 1


def test_a_dockerfile_that_fails_shows_its_last_lines_on_the_row(found) -> None:
    broken = [row for row in found if row["task"] == "broken-build"]
    assert len(broken) == 4
    for row in broken:
        assert (row["status"], row["origin"], row["passed"]) == ("IMAGE_ERROR", "infrastructure", None)
        assert "words-before-the-end" in row["failure_message"]


def test_more_cores_than_the_machine_has_is_a_row_and_a_sentence(ran, of_task) -> None:
    for row in of_task("giant"):
        assert (row["status"], row["failure_kind"], row["attempt"]) == ("SANDBOX_ERROR", "does_not_fit", 0)
        assert "4000 cores were promised" in row["failure_message"]
    assert "task giant: 4000 cores were promised" in ran[1].stdout + ran[1].stderr


def test_every_column_is_there_and_the_partitions_agree_with_the_rows(ran, found) -> None:
    assert set(found[0]) == {column.name for column in COLUMNS}
    for file in (ran[0] / "results" / "trials").rglob("*.parquet"):
        keys = dict(part.split("=", 1) for part in file.parts if "=" in part)
        assert tuple(keys) == PARTITION_KEYS
        assert not set(PARTITION_KEYS) & set(pq.read_schema(file).names)


def test_no_group_of_columns_is_empty_but_that_of_models(found) -> None:
    filled = {column.group for column in COLUMNS if any(row[column.name] is not None for row in found)}
    assert filled == set(GROUPS) - {"usage"}


def test_what_was_in_force_and_used_and_where_has_real_values(of_task) -> None:
    for row in of_task("noop") + of_task("slowbuild"):
        assert row["effective_memory_limit_bytes"] == 512 * 2**20
        assert row["effective_pids_limit"] == 1024
        assert row["effective_runtime"]
        assert row["used_cpu_s"] > 0
        assert 2**20 < row["used_memory_peak_bytes"] < 512 * 2**20
        assert (row["used_oom_kills"], row["used_pids_limit_hits"]) == (0, 0)
        assert row["image_engine_id"].startswith("sha256:")
        assert row["image_digest"].startswith("sha256:")
        assert row["snapshot_id"] != row["host_id"]
        assert row["started_at"] < row["finished_at"]
        assert row["total_s"] >= row["create_s"] + row["agent_s"] + row["grade_s"]


def test_ids_in_rows_lead_to_their_tables(ran, found) -> None:
    results = ran[0] / "results"
    settings = duckdb.sql(f"select name from read_parquet('{results}/resources/*.parquet') order by name").fetchall()
    assert settings == [("exclusive",), ("shared",)]
    for row in found:
        for folder, key in (("hosts", row["host_id"]), ("images", row["image_key"])):
            assert key is None or (results / folder / f"{key}.parquet").is_file()
        for uri in (row["transcript_uri"], row["artifacts_uri"]):
            assert uri is None or (results / uri).is_file()
