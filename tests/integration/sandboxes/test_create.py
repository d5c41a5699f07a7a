"""What a container is given is in force, and a create that fails leaves nothing."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from sandboxes.base import Command, ImageSource, NetworkSpec, SandboxError
from sandboxes.labels import Owner, sandbox_labels, start_ticks
from sandboxes.reaper import clear_cores, reap
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot
from tests.contract.sandbox_contract import SPEC, request_for
from tests.integration.sandboxes.engine import forget

pytestmark = pytest.mark.docker


def text(sandbox, *argv, **options):
    return sandbox.exec(Command(argv, **options)).stdout.text()


def test_pinned_to_a_core(make):
    sandbox = make(placement=Placement((1,)))
    inside = text(sandbox, "grep", "Cpus_allowed_list", "/proc/self/status").split()[1]
    assert inside == "1"
    assert (sandbox.effective.cpus_allowed, sandbox.effective.cpuset) == ("1", "1")
    assert sandbox.effective.cpus_quota is None


def test_a_quota_throttles_and_is_counted(make):
    sandbox = make(resources=replace(SPEC, cpus_limit=0.05, pinned=False))
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    sandbox.exec(Command(("python3", "-c", busy), timeout_s=60))
    counters = sandbox.counters()
    assert sandbox.effective.cpus_quota == 0.05
    assert counters.throttled_periods > 0
    assert counters.throttled_s > 0
    assert 0 < counters.cpu_usage_s < 1


def test_uncapped(make):
    spec = ResourceSpec(cpus_limit=None, pinned=False, memory_limit_mb=None, pids_limit=None)
    effective = make(resources=spec).effective
    assert (effective.cpus_quota, effective.cpuset) == (None, None)
    assert (effective.memory_limit_bytes, effective.cgroup_memory_limit_bytes) == (None, None)
    assert effective.pids_limit is None


def test_an_oom_kill_is_counted(make):
    sandbox = make(resources=replace(SPEC, memory_limit_mb=64))
    result = sandbox.exec(Command(("python3", "-c", "x = b'1' * (300 << 20)"), timeout_s=60))
    counters = sandbox.counters()
    assert result.exit_code == 137
    assert counters.oom_kills == 1
    assert counters.memory_peak_bytes == 64 << 20


def test_swap_on_top_of_memory(make):
    effective = make(resources=replace(SPEC, swap_mb=64)).effective
    assert effective.memory_swap_bytes == (256 + 64) << 20


def test_written_bytes_are_counted_or_unknown(sandbox):
    sandbox.exec(Command(("sh", "-c", "head -c 5M /dev/zero > /file; sync /file")))
    written = sandbox.counters().disk_written_bytes
    assert written is None or written >= 0


def test_root_keeps_few_capabilities_and_gains_none(sandbox):
    status = text(sandbox, "cat", "/proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    chown, dac_override, fowner, kill, setgid, setuid = (1 << bit for bit in (0, 1, 3, 5, 6, 7))
    assert int(fields["CapEff"], 16) == chown | dac_override | fowner | kill | setgid | setuid
    assert int(fields["CapBnd"], 16) == int(fields["CapEff"], 16)
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"
    script = "touch /f && chown 33:33 /f && chmod 600 /f && cat /f && setpriv --reuid 33 --clear-groups id -u"
    assert text(sandbox, "sh", "-c", script) == "33\n"


def test_a_declared_capability_is_added(make):
    sandbox = make(capabilities=("CAP_NET_RAW",))
    fields = text(sandbox, "grep", "CapEff", "/proc/self/status").split()
    assert int(fields[1], 16) & 1 << 13


def test_no_network_and_no_mounts_of_the_host(sandbox):
    names = text(sandbox, "sh", "-c", "ls /sys/class/net").split()
    assert names == ["lo"]
    assert sandbox.effective.network == "none"
    assert "docker.sock" not in text(sandbox, "cat", "/proc/self/mountinfo")


def test_the_public_network_has_an_interface(make):
    sandbox = make(network=NetworkSpec(mode="public"))
    assert "eth0" in text(sandbox, "sh", "-c", "ls /sys/class/net")


def test_pid_1_is_bounded_and_ignores_the_end_of_children(sandbox):
    assert text(sandbox, "sh", "-c", "tr '\\0' ' ' < /proc/1/cmdline").strip() == "sleep 300"
    ignored = int(text(sandbox, "grep", "SigIgn", "/proc/1/status").split()[1], 16)
    assert ignored & 1 << (17 - 1)


def test_a_container_ends_and_vanishes_at_its_deadline(provider, make):
    sandbox = make(deadline_s=1.0)
    client = provider.engine.client
    give_up = time.monotonic() + 30
    while client.containers(all=True, filters={"id": sandbox.sandbox_id}):
        assert time.monotonic() < give_up
        time.sleep(0.1)


def test_what_it_was_labelled_with(provider, make):
    sandbox = make(placement=Placement((0, 1)))
    labels = provider.engine.inspect(sandbox.sandbox_id)["Config"]["Labels"]
    assert labels["passhat.sweep"] == "contract"
    assert labels["passhat.attempt"] == "a1"
    assert labels["passhat.cores"] == "0,1"
    assert float(labels["passhat.deadline"]) > time.time()
    assert '"pid":' in labels["passhat.owner"]


def containers_of(provider, sweep):
    label = {"label": f"passhat.sweep={sweep}"}
    return provider.engine.client.containers(all=True, filters=label)


@pytest.mark.parametrize(
    "changes",
    [
        {"runtime": "no-such-runtime"},
        {"image": ImageSnapshot("gone", "sha256:" + "0" * 64, "engine", "sha256:" + "0" * 64)},
        {"placement": Placement((4000,))},
        {"network": NetworkSpec(network_name="no-such-network")},
        {"network": NetworkSpec(mode="allowlist", allowed_hosts=("example.org",))},
        {"resources": replace(SPEC, memory_limit_mb=1)},
    ],
)
def test_a_create_that_fails_says_why_and_leaves_nothing(provider, base_image, changes):
    labels = {"passhat.sweep": "doomed", "passhat.attempt": "1"}
    with pytest.raises(SandboxError) as caught:
        provider.create(request_for(**{"image": base_image, "labels": labels, **changes}))
    assert len(str(caught.value)) > 30
    assert containers_of(provider, "doomed") == []


def test_an_image_without_a_shell_says_so_and_leaves_nothing(provider, tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY file /file\n")
    (tmp_path / "file").write_text("x")
    image = provider.ensure_image(ImageSource(dockerfile_dir=str(tmp_path)))
    labels = {"passhat.sweep": "shell-less", "passhat.attempt": "1"}
    with pytest.raises(SandboxError, match="/bin/sh"):
        provider.create(request_for(image, labels=labels))
    assert containers_of(provider, "shell-less") == []
    forget(provider, image.reference)


def test_sandboxes_leave_no_file_descriptors(provider, base_image):
    def count():
        return len(os.listdir("/proc/self/fd"))

    def trial():
        sandbox = provider.create(request_for(base_image))
        sandbox.exec(Command(("true",)))
        sandbox.get("/etc/hostname")
        sandbox.remove()

    trial()
    before = count()
    for _ in range(3):
        trial()
    assert count() <= before


HOLDER = """
import sys, time
from sandboxes.base import ImageSource
from sandboxes.docker import DockerProvider
from tests.contract.sandbox_contract import request_for
from sandboxes.resources import Placement
provider = DockerProvider()
image = provider.ensure_image(ImageSource(reference="passhat-base:bookworm"))
labels = {"passhat.sweep": "holder", "passhat.attempt": "1"}
print(provider.create(request_for(image, labels=labels, placement=Placement((0,)))).sandbox_id, flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder():
    """A process that holds a container, and the container's id."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_reaping_spares_the_living_and_takes_what_the_dead_left(seen_from_the_host, holder, base_image):
    engine = seen_from_the_host.engine
    process, container_id = holder
    mine = seen_from_the_host.create(request_for(base_image))
    try:
        spared = reap(engine)
        assert container_id not in spared.containers
        assert {container_id, mine.sandbox_id} <= set(spared.kept)
        process.kill()
        process.wait()
        reaped = reap(engine)
        assert container_id in reaped.containers
        assert mine.sandbox_id not in reaped.containers
        assert containers_of(seen_from_the_host, "holder") == []
    finally:
        mine.remove()


def test_whoever_takes_a_core_clears_what_a_dead_holder_left(seen_from_the_host, holder):
    engine = seen_from_the_host.engine
    process, container_id = holder
    assert 0 in clear_cores(engine, frozenset({0}))
    process.kill()
    process.wait()
    clear_cores(engine, frozenset({1}))
    assert [item["Id"] for item in containers_of(seen_from_the_host, "holder")] == [container_id]
    clear_cores(engine, frozenset({0}))
    assert containers_of(seen_from_the_host, "holder") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_what_another_users_living_process_holds_stays_and_labels_alone_decide(seen_from_the_host):
    engine = seen_from_the_host.engine
    with subprocess.Popen(["sleep", "60"], user=65534) as other:
        owner = replace(Owner.current(), pid=other.pid, start_ticks=start_ticks(other.pid))
        labels = sandbox_labels(owner, (), time.time() - 1000)
        held = engine.client.create_network("passhat-test-held", labels=labels, internal=True)["Id"]
        named = engine.client.create_network("passhat-0123456789abcdef", internal=True)["Id"]
        try:
            assert held in reap(engine).kept
            other.kill()
            other.wait()
            reaped = reap(engine)
            assert held in reaped.networks
            assert named not in reaped.networks + reaped.kept
        finally:
            other.kill()
            engine.client.remove_network(named)


def test_networks_and_volumes_of_the_dead_go_too(seen_from_the_host):
    engine = seen_from_the_host.engine
    dead = replace(Owner.current(), start_ticks=1)
    labels = sandbox_labels(dead, (), time.time() + 1000)
    engine.client.create_volume("passhat-test-volume", labels=labels)
    network = engine.client.create_network("passhat-test-network", labels=labels, internal=True)["Id"]
    reaped = reap(engine)
    assert "passhat-test-volume" in reaped.volumes
    assert network in reaped.networks
