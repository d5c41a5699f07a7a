"""From a request to engine options: every promise about a container's limits, without an engine."""

from dataclasses import replace

import pytest

from sandboxes.base import NetworkSpec, SandboxError, SandboxRequest
from sandboxes.docker_options import DEFAULT_CAPABILITIES, container_options, killer_options
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot

IMAGE = ImageSnapshot("task:1", "sha256:aa", "recipe", "sha256:bb")
REQUEST = SandboxRequest(IMAGE, ResourceSpec(), Placement((1, 0)), {"passhat.sweep": "s"}, 90.5)


def options(disk_limits=False, **changes):
    return container_options(replace(REQUEST, **changes), {"passhat.owner": "me"}, disk_limits)


def host(**changes):
    return options(**changes)["HostConfig"]


def test_the_image_is_named_by_its_id_and_labels_are_joined():
    made = options()
    assert made["Image"] == "sha256:bb"
    assert made["Labels"] == {"passhat.sweep": "s", "passhat.owner": "me"}


def test_pid_1_ends_at_the_deadline_and_the_container_with_it():
    assert "sleep 90" in options()["Entrypoint"][2]
    assert host()["AutoRemove"] is True


def test_confined():
    made = host()
    assert made["CapDrop"] == ["ALL"]
    assert made["CapAdd"] == sorted(DEFAULT_CAPABILITIES)
    assert made["SecurityOpt"] == ["no-new-privileges"]
    assert made["LogConfig"]["Type"] == "none"
    assert made["NetworkMode"] == "none"
    assert made["PidsLimit"] == 1024
    assert not {"Binds", "Mounts", "Privileged", "Devices", "VolumesFrom"} & made.keys()


def test_capabilities_that_a_task_declares_are_added_once():
    assert host(capabilities=("CAP_SYS_PTRACE", "chown"))["CapAdd"].count("CHOWN") == 1
    assert "SYS_PTRACE" in host(capabilities=("CAP_SYS_PTRACE",))["CapAdd"]


def test_pinned_cores_without_a_quota():
    made = host(resources=ResourceSpec(cpus=2, cpus_limit=2))
    assert made["CpusetCpus"] == "0,1"
    assert "CpuQuota" not in made


def test_a_limit_below_the_pinned_cores_is_a_quota_too():
    made = host(resources=ResourceSpec(cpus_limit=0.5), placement=Placement((3,)))
    assert (made["CpusetCpus"], made["CpuQuota"], made["CpuPeriod"]) == ("3", 50_000, 100_000)


def test_shared_cores_have_a_quota_and_uncapped_ones_none():
    shared = host(resources=ResourceSpec(cpus_limit=1.5, pinned=False), placement=Placement())
    assert (shared["CpuQuota"], "CpusetCpus" in shared) == (150_000, False)
    uncapped = host(resources=ResourceSpec(cpus_limit=None), placement=Placement())
    assert not {"CpuQuota", "CpusetCpus"} & uncapped.keys()


def test_swap_is_off_unless_asked_for():
    made = host(resources=ResourceSpec(memory_limit_mb=100))
    assert made["Memory"] == made["MemorySwap"] == 100 << 20
    assert host(resources=ResourceSpec(memory_limit_mb=100, swap_mb=50))["MemorySwap"] == 150 << 20


def test_the_kill_limit_and_not_the_promise_is_enforced():
    made = host(resources=ResourceSpec(memory_mb=100, memory_limit_mb=300))
    assert made["Memory"] == 300 << 20
    assert "Memory" not in host(resources=ResourceSpec(memory_limit_mb=None))


def test_a_disk_limit_only_where_the_driver_has_one():
    spec = ResourceSpec(disk_mb=500)
    assert host(disk_limits=True, resources=spec)["StorageOpt"] == {"size": "500M"}
    assert "StorageOpt" not in host(disk_limits=False, resources=spec)


def test_gpus_runtime_read_only_and_memory_folders():
    made = host(resources=ResourceSpec(gpus=2), runtime="runsc", read_only=True, tmpfs=("/tmp",))
    assert made["DeviceRequests"][0]["Count"] == 2
    assert made["Runtime"] == "runsc"
    assert made["ReadonlyRootfs"] is True
    assert set(made["Tmpfs"]) == {"/tmp"}


@pytest.mark.parametrize(
    ("network", "mode"),
    [
        (NetworkSpec(), "none"),
        (NetworkSpec(mode="public"), "bridge"),
        (NetworkSpec(network_name="compose_default"), "compose_default"),
    ],
)
def test_networks(network, mode):
    assert host(network=network)["NetworkMode"] == mode


def test_an_allowlist_is_refused_by_name():
    with pytest.raises(SandboxError, match="'allowlist' was asked for"):
        options(network=NetworkSpec(mode="allowlist", allowed_hosts=("example.org",)))


def test_the_killer_sees_only_the_other_processes():
    made = killer_options("sha256:bb", "c0ffee", {"passhat.owner": "me"})
    assert made["HostConfig"]["PidMode"] == "container:c0ffee"
    assert made["HostConfig"]["CapAdd"] == ["KILL"]
    assert made["Labels"] == {"passhat.owner": "me"}
