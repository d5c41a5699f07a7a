"""Counters of both cgroup versions, and finding the folder under both drivers."""

from pathlib import Path

import pytest

from sandboxes.cgroup import (
    locate,
    parse_membership,
    parse_mounts,
    read_counters,
    read_memory_limit,
)
from sandboxes.resources import Counters

ID = "3eb02ed3a9a26c79e9168d832f555978551d43dda7de363afb77b6246c0a85b0"

FILES_V1 = {
    "memory.max_usage_in_bytes": "268435456\n",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
    "memory.limit_in_bytes": "9223372036854771712\n",
    "pids.events": "max 7\n",
    "cpuacct.usage": "1500000000\n",
    "cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 250000000\n",
    "blkio.throttle.io_service_bytes_recursive": "8:0 Read 4096\n8:0 Write 8192\n8:16 Write 100\nTotal 12388\n",
}
FILES_V2 = {
    "memory.peak": "268435456\n",
    "memory.events": "low 0\nhigh 0\nmax 12\noom 3\noom_kill 3\noom_group_kill 0\n",
    "memory.max": "536870912\n",
    "pids.events": "max 7\n",
    "cpu.stat": "usage_usec 1500000\nuser_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250000\n",
    "io.stat": "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2\n8:16 rbytes=0 wbytes=100 rios=0 wios=1\n",
}
EXPECTED = Counters(268435456, 3, 7, 1.5, 0.25, 4, 8292)


@pytest.mark.parametrize(("version", "files"), [(1, FILES_V1), (2, FILES_V2)])
def test_counters_of_both_versions_mean_the_same(version, files):
    assert read_counters(version, lambda controller, name: files.get(name)) == EXPECTED


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_missing_is_unknown_and_not_zero(version):
    assert read_counters(version, lambda controller, name: None) == Counters()


def test_memory_limits():
    assert read_memory_limit(1, lambda controller, name: FILES_V1.get(name)) is None
    assert read_memory_limit(1, lambda controller, name: "1048576\n") == 1048576
    assert read_memory_limit(2, lambda controller, name: FILES_V2.get(name)) == 536870912
    assert read_memory_limit(2, lambda controller, name: "max\n") is None


def host(root: Path, membership: str, mounts: str) -> Path:
    """A proc folder of a host whose container's PID 1 is 42."""
    proc = root / "proc"
    (proc / "42").mkdir(parents=True)
    (proc / "self").mkdir()
    (proc / "42" / "cgroup").write_text(membership)
    (proc / "self" / "mountinfo").write_text(mounts)
    return proc


def mount(point: Path, kind: str, options: str, mounted: str = "/") -> str:
    return f"30 24 0:26 {mounted} {point} rw,relatime shared:9 - {kind} {kind} {options}\n"


@pytest.mark.parametrize("path", [f"docker/{ID}", f"system.slice/docker-{ID}.scope"])
def test_version_2_under_both_drivers(tmp_path, path):
    folder = tmp_path / "cgroup" / path
    folder.mkdir(parents=True)
    (folder / "memory.peak").write_text("77\n")
    proc = host(tmp_path, f"0::/{path}\n", mount(tmp_path / "cgroup", "cgroup2", "rw,nsdelegate"))
    found = locate(42, ID, str(proc))
    assert found.version == 2
    assert found.process_folder == folder
    assert read_counters(2, found.read).memory_peak_bytes == 77


@pytest.mark.parametrize("path", [f"docker/{ID}", f"system.slice/docker-{ID}.scope"])
def test_version_1_beside_an_empty_version_2(tmp_path, path):
    mounts = mount(tmp_path / "unified", "cgroup2", "rw")
    lines = [f"0::/{path}"]
    for number, name in enumerate(["memory", "cpu,cpuacct", "freezer", "pids"], start=1):
        (tmp_path / name / path).mkdir(parents=True)
        mounts += mount(tmp_path / name, "cgroup", f"rw,{name}")
        lines.append(f"{number}:{name}:/{path}")
    (tmp_path / "memory" / path / "memory.max_usage_in_bytes").write_text("77\n")
    (tmp_path / "cpu,cpuacct" / path / "cpuacct.usage").write_text("2000000000\n")
    found = locate(42, ID, str(host(tmp_path, "\n".join(lines) + "\n", mounts)))
    assert found.version == 1
    assert found.process_folder == tmp_path / "freezer" / path
    counters = read_counters(1, found.read)
    assert (counters.memory_peak_bytes, counters.cpu_usage_s) == (77, 2.0)


def test_a_hierarchy_mounted_from_below_its_top(tmp_path):
    (tmp_path / "cgroup" / ID).mkdir(parents=True)
    proc = host(tmp_path, f"0::/docker/{ID}\n", mount(tmp_path / "cgroup", "cgroup2", "rw", "/docker"))
    assert locate(42, ID, str(proc)).process_folder == tmp_path / "cgroup" / ID


def test_another_process_under_that_number_is_no_container(tmp_path):
    proc = host(tmp_path, "0::/user.slice/session-1.scope\n", mount(tmp_path, "cgroup2", "rw"))
    assert locate(42, ID, str(proc)) is None


def test_a_folder_that_this_host_does_not_show(tmp_path):
    proc = host(tmp_path, f"0::/docker/{ID}\n", mount(tmp_path / "elsewhere", "cgroup2", "rw"))
    assert locate(42, ID, str(proc)) is None
    assert locate(43, ID, str(proc)) is None


def test_parsing_odd_lines():
    assert parse_membership("4:memory:/a:b\n0::/c\n") == {"memory": "/a:b", "": "/c"}
    assert parse_mounts("broken\n30 24 0:1 / /with\\040space rw - cgroup2 cgroup2 rw\n") == {"": ("/with space", "/")}
