"""A thousand no-op trials in one sweep, 32 at once on all cores shared, with a fault in every twentieth.

What grows from the first hundred to the last: memory, file handles and threads of the driver, of its workers and
of the engine, and the engine's objects. The faults are a container removed or killed, or a worker killed.

Read where it can be compared. A worker opens its connections in its first ten trials, and the driver one to each
worker, and the engine's runtime lets its heap grow under a new load: these are read from the third hundred on, and
all hundreds are printed. The engine has handles for each container that lives, so they are counted while it has none
of ours, before and after. The driver keeps the connection to a worker that was killed, which is Ray's doing and
bounded by the faults.
"""

import contextlib
import math
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import docker.errors
import ray

from orchestrator.config import parse_sweep
from orchestrator.execution.freeze import facts, freeze
from orchestrator.execution.place import PlaceOptions, open_worker, reap_here
from orchestrator.execution.ray_cluster import RayCluster
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.session import RunOptions, run_sweep
from orchestrator.storage.root import Root
from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider
from sandboxes.labels import SWEEP
from suites.loading import load_suite
from tests.builders import make_task

TRIALS = 1_000
AT_ONCE = 32
FAULT_EVERY = 20
HUNDRED = max(1, TRIALS // 10)
SEED = 20261202
TASK = f"""[environment]
docker_image = "{BASE_REFERENCE}"
cpus = 0.05
memory_mb = 64
network_mode = "no-network"
workdir = "/"
"""
TEST = '#!/bin/bash\n[ "$(cat /tmp/answer.txt)" = hello ] && echo 1 > /logs/verifier/reward.txt\n'
SOLUTION = "#!/bin/bash\necho hello > /tmp/answer.txt\n"
# What may be added, or the factor, from the first hundred to the last; memory is in MB.
BOUNDS = {"MB": 1.15, "handles": 8, "threads": 4, "goroutines": 40}
SETTLE_S = 200.0
WARM = 3
LATE = ("worker handles", "driver handles", "engine MB")


@dataclass(slots=True)
class Watch:
    """Hears the sweep: takes a reading at every hundred, and does harm at every twentieth attempt."""

    provider: DockerProvider
    sweep_id: str
    rng: random.Random = field(default_factory=lambda: random.Random(SEED))
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    settled: int = 0
    injected: Counter[str] = field(default_factory=Counter)
    readings: list[dict[str, float]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        if event == "engine":
            self.said.append(str(fields["message"]))
        if event != "attempt":
            return
        self.ended[str(fields["status"]), str(fields.get("failure_kind"))] += 1
        self.settled += bool(fields["final"])
        count = sum(self.ended.values())
        if bool(fields["final"]) and self.settled % HUNDRED == 0 and self.settled < TRIALS:
            self.readings.append(self._read())
        if count % FAULT_EVERY == 0 and count <= TRIALS:
            self._harm()

    def containers(self) -> list[str]:
        listed = self.provider.engine.client.containers(all=True, filters={"label": f"{SWEEP}={self.sweep_id}"})
        return [str(item["Id"]) for item in listed]

    def _harm(self) -> None:
        kind = self.rng.choice(("container removed", "container killed", "worker killed"))
        with contextlib.suppress(docker.errors.APIError, ProcessLookupError, IndexError):
            if kind == "worker killed":
                os.kill(self.rng.choice(busy_workers()), signal.SIGKILL)
            elif kind == "container killed":
                self.provider.engine.client.kill(self.rng.choice(self.containers()))
            else:
                self.provider.engine.client.remove_container(self.rng.choice(self.containers()), force=True)
            self.injected[kind] += 1

    def _read(self) -> dict[str, float]:
        client = self.provider.engine.client
        found: dict[str, float] = {"containers": len(self.containers())}
        found |= {"networks": len(client.networks()), "volumes": len(client.volumes()["Volumes"] or [])}
        found |= {"images": len(client.images(all=True))}
        workers = [reading for pid in workers_here() if (reading := process(pid))]
        for key in ("MB", "handles", "threads"):
            found[f"worker {key}"] = max((w[key] for w in workers), default=0.0)
        found |= {f"driver {key}": value for key, value in process(os.getpid()).items()}
        found |= {f"engine {key}": value for key, value in process(engine_pid()).items() if key != "handles"}
        return found


def idle(enough: float) -> dict[str, float]:
    """The engine with nothing of ours in it and nobody of ours connected: what it still holds, at the least.

    Its runtime closes some handles of ended containers only when it collects, every two minutes; it is looked at for
    longer than that, or until it holds no more than `enough`.
    """
    until, handles = time.monotonic() + SETTLE_S, math.inf
    while True:
        time.sleep(1)
        handles = min(handles, process(engine_pid()).get("handles", 0.0))
        if handles <= enough or time.monotonic() >= until:
            break
    with DockerProvider() as provider:
        routines = float(provider.engine.client.info()["NGoroutines"])
    return {"engine handles": handles, "engine goroutines": routines}


def process(pid: int) -> dict[str, float]:
    """Resident memory, open file handles and threads; empty when the process is gone or hidden."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        handles, threads = len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return {}
    return {"MB": pages * 4096 / 1e6, "handles": handles, "threads": threads}


def engine_pid() -> int:
    """The machine's daemon; 0 when it is somewhere else."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/var/run/docker.pid").read_text())
    return 0


def workers_here(name: str = "ray::WorkerActor") -> list[int]:
    """Workers of this driver: below the raylet that this process started."""
    mine = {os.getpid()}
    parents: dict[int, int] = {}
    names: dict[int, bytes] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                names[int(folder.name)] = (folder / "cmdline").read_bytes()
    for _ in range(4):
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    return sorted(pid for pid in mine if names.get(pid, b"").startswith(name.encode()))


def busy_workers() -> list[int]:
    return workers_here("ray::WorkerActor.run")


def rows() -> list[dict[str, object]]:
    with DockerProvider() as provider:
        provider.images.ensure_base()
    before = idle(enough=math.inf)
    connect(None)
    try:
        with tempfile.TemporaryDirectory(prefix="passhat-load-") as name, DockerProvider() as provider:
            found = _measure(Path(name), provider)
    finally:
        ray.shutdown()
    return [*found, *_compared(before, idle(before["engine handles"]), "with no container of ours")]


def _measure(folder: Path, provider: DockerProvider) -> list[dict[str, object]]:
    files = {"tests/test.sh": TEST, "solution/solve.sh": SOLUTION}
    make_task(folder / "suite" / "noop", TASK, files)
    text = f"""name = "load"
suite = "{folder / "suite"}"
repeats = {TRIALS}
seed = {SEED}
keep_artifacts = false
agents = [{{ name = "oracle", kind = "oracle" }}]
resources = [{{ name = "20x", headroom = 20.0, pinned = false }}]
retry = {{ max = 5, backoff_s = 0.1 }}
"""
    root = Root(folder / "results")
    frozen = freeze(parse_sweep(text, "load"), load_suite(folder / "suite"), root, datetime.now(UTC))
    watch = Watch(provider, frozen.plan.sweep_id)
    options = PlaceOptions()

    def open_cluster() -> RayCluster:
        return RayCluster(partial(open_worker, options), facts(frozen), partial(reap_here, options))

    begun_s = time.monotonic()
    ended = run_sweep(frozen, root, open_cluster, RunOptions(concurrency=AT_ONCE), watch.hear)
    spent_s = time.monotonic() - begun_s
    return _verdicts(watch, ended.progress.done, spent_s)


def _verdicts(watch: Watch, done: int, spent_s: float) -> list[dict[str, object]]:
    print("  ".join(f"{what} {count}" for what, count in sorted(watch.injected.items())), "injected")
    for (status, kind), count in watch.ended.most_common():
        print(f"  {count:5} {status} {kind}")
    for text in watch.said[:10]:
        print(f"  said: {text}")
    passed = watch.ended["PASSED", "None"]
    failed = sum(watch.ended.values()) - passed
    late = sum(count for (status, kind), count in watch.ended.items() if "timeout" in f"{status} {kind}".lower())
    left = len(watch.containers())
    harmed = sum(watch.injected.values())
    found = [
        row(f"trials of {TRIALS} that passed, {AT_ONCE} at once", passed, f"= {TRIALS}", passed == done == TRIALS),
        row("failed attempts, faults injected being " + str(harmed), failed, "not more", failed <= harmed),
        row("time-outs of ours", late, "0", late == 0),
        row("containers left", left, "0", left == 0),
        row("seconds for each trial", spent_s / TRIALS, "none", True, "s"),
    ]
    for name in watch.readings[0]:
        print(f"  {name}: " + ", ".join(f"{reading.get(name, 0.0):.4g}" for reading in watch.readings))
    spared = {"driver handles": watch.injected["worker killed"]}
    early, warm, last = watch.readings[0], watch.readings[WARM - 1], watch.readings[-1]
    full = {name: warm[name] for name in LATE}
    early = {name: value for name, value in early.items() if name not in full}
    found += _compared(early, last, f"after {HUNDRED} trials")
    return found + _compared(full, last, f"after {WARM * HUNDRED} trials", spared)


def _compared(
    first: Mapping[str, float], last: Mapping[str, float], when: str, spared: Mapping[str, int] | None = None
) -> list[dict[str, object]]:
    """A row for each number that was read twice; `spared`: what may be added besides."""
    found = []
    for name, before in first.items():
        after, kind = last.get(name, 0.0), name.split()[-1]
        most = before * BOUNDS[kind] if kind == "MB" else before + BOUNDS.get(kind, 0)
        most += (spared or {}).get(name, 0)
        if name == "containers":
            most = 2.0 * AT_ONCE
        found.append(row(f"{name}, from {before:.4g} {when} to", after, f"<= {most:.4g}", after <= most))
    return found


def row(name: str, value: float, aim: str, holds: bool, unit: str = "") -> dict[str, object]:
    return {"name": name, "value": value, "unit": unit, "aim": aim, "holds": holds}
