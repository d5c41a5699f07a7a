"""From a request to the engine's options for a container. Pure; knows the engine's JSON, not the engine.

What every container gets: a PID 1 that ends by itself and takes the container with it, few capabilities
and no way to gain more, the default seccomp profile, a pids limit, no host mounts, no log file, swap as
asked, and no network unless asked for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sandboxes.base import NetworkSpec, SandboxError, SandboxRequest

MIB = 1024 * 1024
CFS_PERIOD_US = 100_000

DEFAULT_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""What root keeps inside: to install and to test as root. CHOWN, FOWNER and DAC_OVERRIDE, because
package managers and test scripts hand files to other users and read theirs; SETUID and SETGID, because
root starts a command as the task's user (su, setpriv, apt's own sandbox user); KILL, because it then
has to end it. Everything else (raw sockets, devices, mounts, tracing, time) must be declared."""

PID_1 = (
    "env --ignore-signal=CHLD true 2>/dev/null && exec env --ignore-signal=CHLD sleep {seconds};"
    " command -v bash >/dev/null && exec bash -c \"trap '' CHLD; exec sleep {seconds}\";"
    " trap '' CHLD; exec sleep {seconds}"
)
"""Ends by itself, and so does the container. SIGCHLD is ignored, and stays so across exec, which lets
the kernel reap orphans: as good as an init process, but nothing besides PID 1 has to be spared when
everything else is killed. Three ways to ignore it, because Debian's sh resets it before exec."""

PID_1_NAME = "sleep"

RESOLVER_OPTIONS = ["timeout:2", "attempts:1"]
"""A name that nobody answers for costs two seconds, not the usual twenty."""

TMPFS_OPTIONS = "rw,nosuid,nodev,exec,mode=1777,size={size}m"


def container_options(request: SandboxRequest, labels: Mapping[str, str], disk_limits: bool) -> dict[str, Any]:
    """The body of the engine's create call.

    `disk_limits`: whether the engine's storage driver can hold a writable layer to a size; where it
    cannot, `disk_mb` is not in force and `EffectiveResources.disk_bytes` says so. Raises SandboxError
    for a network the engine cannot give.
    """
    seconds = max(1, int(request.deadline_s))
    options: dict[str, Any] = {
        "Image": request.image.engine_id,
        "Entrypoint": ["/bin/sh", "-c", PID_1.format(seconds=seconds)],
        "Cmd": [],
        "Env": [f"{name}={value}" for name, value in sorted(request.env.items())],
        "Labels": {**request.labels, **labels},
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host_config(request, disk_limits),
    }
    if request.hostname is not None:
        options["Hostname"] = request.hostname
    network = request.network
    if network.network_name is not None and network.aliases:
        options["NetworkingConfig"] = {"EndpointsConfig": {network.network_name: {"Aliases": list(network.aliases)}}}
    if network.resolver is not None:
        options["HostConfig"] |= {"Dns": [network.resolver], "DnsOptions": RESOLVER_OPTIONS}
    return options


def _host_config(request: SandboxRequest, disk_limits: bool) -> dict[str, Any]:
    capabilities = sorted({*DEFAULT_CAPABILITIES, *(_capability(name) for name in request.capabilities)})
    spec = request.resources
    config: dict[str, Any] = {
        "NetworkMode": network_mode(request.network),
        "CapDrop": ["ALL"],
        "CapAdd": capabilities,
        "SecurityOpt": ["no-new-privileges"],
        "LogConfig": {"Type": "none", "Config": {}},
        "AutoRemove": True,
        "IpcMode": "private",
        "ShmSize": spec.shm_mb * MIB,
        "ReadonlyRootfs": request.read_only,
        "Tmpfs": {path: TMPFS_OPTIONS.format(size=_tmpfs_mb(request)) for path in request.tmpfs},
        **_cpu(request),
        **_memory(request),
    }
    if spec.pids_limit is not None:
        config["PidsLimit"] = spec.pids_limit
    if spec.disk_mb is not None and disk_limits:
        config["StorageOpt"] = {"size": f"{spec.disk_mb}M"}
    if spec.gpus:
        config["DeviceRequests"] = [{"Driver": "", "Count": spec.gpus, "Capabilities": [["gpu"]]}]
    if request.runtime is not None:
        config["Runtime"] = request.runtime
    return config


SIDECAR_PID_1 = 'trap \'exit 124\' USR1; "$@" & child=$!; (sleep {seconds}; kill -USR1 1) & wait "$child"; exit $?'
"""Runs a sidecar's program and ends with it, or at the deadline; the kernel then ends all that is left."""


def sidecar_options(
    options: dict[str, Any], argv: Sequence[str], user: str | None, workdir: str | None, deadline_s: float
) -> dict[str, Any]:
    """Options of a container that runs `argv`, from those of a sandbox: it keeps a small log, also once it ended."""
    first = SIDECAR_PID_1.format(seconds=max(1, int(deadline_s)))
    named = {"User": user} if user is not None else {}
    placed = {"WorkingDir": workdir} if workdir is not None else {}
    log = {"Type": "json-file", "Config": {"max-size": "4m", "max-file": "1"}}
    host = {**options["HostConfig"], "AutoRemove": False, "LogConfig": log}
    entry = {"Entrypoint": ["/bin/sh", "-c", first, "sidecar"], "Cmd": list(argv)}
    return {**options, **entry, **named, **placed, "HostConfig": host}


def killer_options(image_id: str, container_id: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """A container that kills everything but PID 1 of another, from inside its pid namespace.

    It is made of the image as it was, so nothing that was replaced in the other container is run, and has
    a cgroup of its own, so that a full pids limit does not stop it. The kill is one system call.
    """
    return {
        "Image": image_id,
        "Entrypoint": ["/bin/sh", "-c", "kill -9 -1"],
        "Cmd": [],
        "User": "0:0",
        "Labels": dict(labels),
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "PidMode": f"container:{container_id}",
            "NetworkMode": "none",
            "CapDrop": ["ALL"],
            "CapAdd": ["KILL"],
            "SecurityOpt": ["no-new-privileges"],
            "LogConfig": {"Type": "none", "Config": {}},
        },
    }


def network_mode(network: NetworkSpec) -> str:
    """The engine's network mode for a network spec."""
    if network.network_name is not None:
        return network.network_name
    if network.mode == "public":
        return "bridge"
    if network.mode == "none" and network.gateway_url is None:
        return "none"
    asked = network.mode if network.gateway_url is None else f"{network.mode} with a model gateway"
    raise SandboxError(
        f"network {asked!r} was asked for, but this provider gives only 'none', 'public' or a named"
        " network: change the task's network, or name one that was made for it"
    )


def _cpu(request: SandboxRequest) -> dict[str, Any]:
    spec, cores = request.resources, request.placement.cores
    config: dict[str, Any] = {}
    if cores:
        config["CpusetCpus"] = ",".join(str(core) for core in sorted(cores))
    if spec.cpus_limit is not None and (not cores or spec.cpus_limit < len(cores)):
        config["CpuPeriod"] = CFS_PERIOD_US
        config["CpuQuota"] = max(1000, round(spec.cpus_limit * CFS_PERIOD_US))
    return config


def _memory(request: SandboxRequest) -> dict[str, Any]:
    spec = request.resources
    if spec.memory_limit_mb is None:
        return {}
    limit = spec.memory_limit_mb * MIB
    return {"Memory": limit, "MemorySwap": limit + spec.swap_mb * MIB}


def _tmpfs_mb(request: SandboxRequest) -> int:
    """A tmpfs counts as memory of the container; half of the promise leaves room to run."""
    return max(16, request.resources.memory_mb // 2)


def _capability(name: str) -> str:
    return name.upper().removeprefix("CAP_")
