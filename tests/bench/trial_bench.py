"""What a whole trial costs against the floor of the engine: create, start, two execs, remove.

Both sides run the same image with the same options, turn by turn in one run. A trial's side is everything
once Ray is up: assignment, container, oracle, shared grading, counters, evidence, the row on the disk. It is
taken from the rows' becoming durable in the steady state (the first of each worker left out).
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import docker
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
from suites.loading import load_suite

TRIALS = 24
ROUNDS = 3
CPUS = 0.2
MEMORY_MB = 256

TASK = f"""[environment]
docker_image = "{BASE_REFERENCE}"
cpus = {CPUS}
memory_mb = {MEMORY_MB}
network_mode = "no-network"
workdir = "/"
"""


def _suite(folder: Path) -> Path:
    task = folder / "suite" / "noop"
    (task / "tests").mkdir(parents=True)
    (task / "solution").mkdir()
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Write hello into /tmp/answer.txt.\n")
    (task / "solution" / "solve.sh").write_text("#!/bin/bash\necho hello > /tmp/answer.txt\n")
    (task / "tests" / "test.sh").write_text(
        '#!/bin/bash\n[ "$(cat /tmp/answer.txt)" = hello ] && echo 1 > /logs/verifier/reward.txt\n'
    )
    return folder / "suite"


def floor_s(concurrency: int, count: int) -> float:
    """Seconds for each of `count` floors, made by `concurrency` threads."""
    todo = list(range(count))
    lock = threading.Lock()

    def work() -> None:
        client = docker.APIClient()
        try:
            while True:
                with lock:
                    if not todo:
                        return
                    todo.pop()
                _one_floor(client)
        finally:
            client.close()

    threads = [threading.Thread(target=work) for _ in range(concurrency)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - started) / count


def _one_floor(client: docker.APIClient) -> None:
    config = client.create_host_config(
        network_mode="none",
        mem_limit=MEMORY_MB << 20,
        memswap_limit=MEMORY_MB << 20,
        pids_limit=1024,
        cpu_period=100_000,
        cpu_quota=int(CPUS * 100_000 * 10),
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        shm_size=64 << 20,
    )
    made = client.create_container(BASE_REFERENCE, ["sleep", "600"], host_config=config, labels={"passhat.bench": "1"})
    client.start(made["Id"])
    for _ in range(2):
        run = client.exec_create(made["Id"], ["bash", "-c", "echo hello > /tmp/answer.txt"])
        client.exec_start(run["Id"])
        client.exec_inspect(run["Id"])
    client.remove_container(made["Id"], force=True, v=True)


def trial_s(folder: Path, suite: Path, concurrency: int, count: int, name: str) -> float:
    """Seconds for each trial in the steady state of one sweep."""
    text = f"""name = "{name}"
suite = "{suite}"
repeats = {count + concurrency}
keep_artifacts = false
agents = [{{ name = "oracle", kind = "oracle" }}]
resources = [{{ name = "10x", headroom = 10.0 }}]
"""
    config = parse_sweep(text, name)
    root = Root(folder / "results")
    frozen = freeze(config, load_suite(suite), root, datetime.now(UTC))
    durable: list[float] = []

    def hear(event: str, fields: Mapping[str, object]) -> None:
        if event == "attempt":
            assert fields["status"] == "PASSED", fields
            durable.append(time.perf_counter())

    options = PlaceOptions()
    open_cluster = lambda: RayCluster(partial(open_worker, options), facts(frozen), partial(reap_here, options))  # noqa: E731
    run_sweep(frozen, root, open_cluster, RunOptions(concurrency=concurrency), hear)
    return (durable[-1] - durable[concurrency - 1]) / (len(durable) - concurrency)


def rows() -> list[dict[str, object]]:
    with DockerProvider() as provider:
        provider.images.ensure_base()
    connect(None)
    found: list[dict[str, object]] = []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            suite = _suite(folder)
            for concurrency in (1, 4):
                ratios, trials = [], []
                floor_s(concurrency, concurrency * 2)
                for turn in range(ROUNDS):
                    floor = floor_s(concurrency, TRIALS)
                    trial = trial_s(folder, suite, concurrency, TRIALS, f"bench{concurrency}x{turn}")
                    ratios.append(trial / floor)
                    trials.append(trial)
                ratio = statistics.median(ratios)
                label = f"no-op trial against the engine's floor, {concurrency} at once"
                found.append({"name": label, "value": ratio, "unit": "x", "aim": "<= 1.4", "holds": ratio <= 1.4})
                label = f"seconds per no-op trial, {concurrency} at once"
                found.append(
                    {"name": label, "value": statistics.median(trials), "unit": "s", "aim": "none", "holds": True}
                )
    finally:
        ray.shutdown()
    return found
