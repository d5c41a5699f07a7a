"""Parsing what the host tells, and apt's configuration."""

from pathlib import Path

from sandboxes.bootstrap import apt_options, apt_sources, archive_command
from sandboxes.host import expand_list, parse_cpuinfo, read_host, read_revision
from sandboxes.readings import HostMeter, parse_cpu_times, parse_frequency


def write(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def test_a_host_that_tells_much(tmp_path):
    base = "sys/devices/system/cpu"
    root = write(
        tmp_path,
        {
            "proc/cpuinfo": "processor : 0\nmodel name\t: Fast CPU\n\nprocessor : 1\nmodel name : Other\n",
            "proc/sys/kernel/randomize_va_space": "2\n",
            f"{base}/cpu0/topology/thread_siblings_list": "0,4\n",
            f"{base}/cpu0/topology/physical_package_id": "0\n",
            f"{base}/cpu1/topology/physical_package_id": "1\n",
            f"{base}/cpu0/cpufreq/scaling_governor": "performance\n",
            f"{base}/intel_pstate/no_turbo": "1\n",
        },
    )
    info = {"NCPU": 8, "MemTotal": 5, "CgroupVersion": "2", "DefaultRuntime": "runc", "Driver": "overlay2"}
    host = read_host(info, {"Components": [{"Name": "runc", "Version": "1.1"}]}, root)
    assert (host.cpu_model, host.cpu_threads_per_core, host.cpu_sockets) == ("Fast CPU", 2, 2)
    assert (host.governor, host.turbo, host.aslr) == ("performance", False, 2)
    assert (host.cgroup_version, host.runtime_version, host.storage_driver) == (2, "1.1", "overlay2")


def test_a_host_that_tells_nothing_has_no_made_up_values(tmp_path):
    host = read_host({}, {}, str(tmp_path))
    assert (host.cpu_model, host.governor, host.turbo, host.aslr, host.cpu_sockets) == (None,) * 5


def test_constants_give_the_same_id(tmp_path):
    assert read_host({}, {}, str(tmp_path)).host_id == read_host({}, {}, str(tmp_path)).host_id
    assert read_host({"NCPU": 2}, {}, str(tmp_path)).host_id != read_host({}, {}, str(tmp_path)).host_id


def test_readings(tmp_path):
    root = write(tmp_path, {"proc/loadavg": "1.50 1 1 1/2 3\n", "proc/stat": "cpu 50 0 0 40 0 0 0 10 0 0\n"})
    meter = HostMeter(root)
    first = meter.read(neighbours=3)
    assert (first.load_1m, first.steal_share, first.neighbours) == (1.5, 0.1, 3)
    assert (first.frequency_mhz, first.temperature_c) == (None, None)
    write(tmp_path, {"proc/stat": "cpu 60 0 0 50 0 0 0 90 0 0\n", "sys/class/thermal/thermal_zone0/temp": "45500"})
    second = meter.read()
    assert (second.steal_share, second.temperature_c) == (0.8, 45.5)


def test_parsers():
    assert parse_cpu_times("") is None
    assert parse_frequency("cpu MHz : 1000.0\n\ncpu MHz : 2000.0\n") == 1500
    assert parse_cpuinfo("a : b\n\nc : d\n") == {"a": "b"}
    assert expand_list("0-2,5\n") == [0, 1, 2, 5]


def test_revisions(tmp_path):
    assert read_revision(tmp_path) is None
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": "# pack\nabc refs/heads/main\n"})
    assert read_revision(tmp_path) == "abc"
    write(tmp_path, {".git/refs/heads/main": "def\n"})
    assert read_revision(tmp_path) == "def"


SOURCES = """# comment
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates trixie
Components: main contrib
Signed-By: /usr/share/keyrings/key.gpg

Types: deb
URIs: http://other.example/x
Suites: stable
Components: main

Enabled: no
Types: deb
URIs: http://off.example/
Suites: bookworm
"""


def test_sources_of_this_machine(tmp_path):
    write(
        tmp_path,
        {
            "sources.list": "deb [trusted=yes] http://line.example/debian bookworm main\n# deb http://no bookworm x\n",
            "sources.list.d/debian.sources": SOURCES,
            "sources.list.d/other.list": "deb http://cloud.example cloud-sdk-bookworm main\n",
        },
    )
    signed = "deb [signed-by=/usr/share/keyrings/key.gpg] http://mirror.example/debian"
    assert apt_sources(tmp_path, "bookworm") == [
        "deb [trusted=yes] http://line.example/debian bookworm main",
        f"{signed} bookworm main contrib",
        f"{signed} bookworm-updates main contrib",
    ]
    assert apt_sources(tmp_path / "none", "bookworm") == []


def test_how_apt_reaches_its_sources():
    dump = 'APT "";\nAcquire "";\nAcquire::http::Proxy "http://proxy.example:3128";\nAcquire::Languages "en";\n'
    assert apt_options(dump) == ['Acquire::http::Proxy "http://proxy.example:3128"']


def test_the_command_names_suite_target_and_sources_in_order():
    command = archive_command("/usr/bin/mmdebstrap", Path("/x/base.tar"), ["deb a", "deb b"], ['A "b"'])
    assert command[-4:] == ["bookworm", "/x/base.tar", "deb a", "deb b"]
    assert '--aptopt=A "b"' in command
