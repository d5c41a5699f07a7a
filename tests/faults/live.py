"""Faults put into a running sweep. Each function does its harm once and says whether there was something to harm."""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import docker.errors

from sandboxes.docker import DockerProvider
from tests.faults.running import Bench

Harm = Callable[[Bench, DockerProvider, random.Random], bool]


def _kill_one(pids: list[int], rng: random.Random) -> bool:
    if not pids:
        return False
    try:
        os.kill(rng.choice(sorted(pids)), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def driver(bench: Bench, _: DockerProvider, __: random.Random) -> bool:
    if not bench.running():
        return False
    bench.kill_driver()
    return True


def worker(bench: Bench, _: DockerProvider, rng: random.Random) -> bool:
    return _kill_one(bench.workers(), rng)


def core_holder(bench: Bench, provider: DockerProvider, rng: random.Random) -> bool:
    """The process whose label a running container on exclusive cores bears."""
    import json

    found = []
    for container in bench.containers(provider):
        with contextlib.suppress(docker.errors.APIError, KeyError, ValueError):
            labels = provider.engine.inspect(container)["Config"]["Labels"]
            if labels["passhat.cores"]:
                found.append(int(json.loads(labels["passhat.owner"])["pid"]))
    return _kill_one([pid for pid in found if pid in bench.processes()], rng)


def raylet(bench: Bench, _: DockerProvider, rng: random.Random) -> bool:
    return _kill_one(bench.raylets(), rng)


def _to_container(act: Callable[[DockerProvider, str], object]) -> Harm:
    def harm(bench: Bench, provider: DockerProvider, rng: random.Random) -> bool:
        containers = bench.containers(provider)
        if not containers:
            return False
        try:
            act(provider, rng.choice(sorted(containers)))
        except docker.errors.APIError:
            return False
        return True

    return harm


removed = _to_container(lambda provider, key: provider.engine.client.remove_container(key, force=True))
stopped = _to_container(lambda provider, key: provider.engine.client.kill(key))
paused = _to_container(lambda provider, key: provider.engine.client.pause(key))


def hanging_exec(bench: Bench, provider: DockerProvider, rng: random.Random) -> bool:
    """Stop a command inside a container, so that it never ends."""
    for container in rng.sample(found := bench.containers(provider), len(found)):
        with contextlib.suppress(docker.errors.APIError, KeyError, TypeError, ProcessLookupError):
            init = int(provider.engine.inspect(container)["State"]["Pid"])
            rows = provider.engine.client.top(container, "-eo pid,args")["Processes"]
            pids = [int(row[0]) for row in rows if int(row[0]) != init]
            if pids:
                for pid in pids:
                    os.kill(pid, signal.SIGSTOP)
                return True
    return False


LIVE: dict[str, Harm] = {
    "driver killed": driver,
    "worker killed": worker,
    "holder of cores killed": core_holder,
    "raylet killed": raylet,
    "container removed": removed,
    "container stopped": stopped,
    "container paused": paused,
    "exec hangs": hanging_exec,
}
# A stopped command is the agent's or the grader's own time-out: nobody can tell it from a slow program.
HANGING = frozenset({"exec hangs", "container paused"})


class SmallDisk:
    """A tmpfs as the results' disk. Needs root; `mounted` says whether it could be had."""

    def __init__(self, folder: Path, size_kb: int = 4096) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        argv = ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "passhat-faults", str(folder)]
        self.mounted = subprocess.run(argv, check=False, capture_output=True).returncode == 0

    def fill(self) -> None:
        with contextlib.suppress(OSError), open(self.folder / "filler", "ab", buffering=0) as stream:
            while stream.write(b"x" * 4096):
                pass

    def free(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        if self.mounted:
            for _ in range(20):
                if subprocess.run(["umount", str(self.folder)], check=False, capture_output=True).returncode == 0:
                    return
                time.sleep(0.2)
