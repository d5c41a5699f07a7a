"""Orchestration alone: 10,000 trials through Ray, scheduler and store with the fake sandbox.

Memory is the driver's resident set after a quarter of the trials (when each buffer was full once) and at the end.
"""

import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import ray

from orchestrator.config import parse_sweep
from orchestrator.execution.freeze import facts, freeze
from orchestrator.execution.place import PlaceOptions, open_worker, reap_here
from orchestrator.execution.ray_cluster import RayCluster
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.session import RunOptions, run_sweep
from orchestrator.storage.root import Root
from suites.loading import load_suite
from tests.bench.trial_bench import _suite

TRIALS = 10_000


def resident_mb() -> float:
    """The driver's resident memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def rows() -> list[dict[str, object]]:
    connect(None)
    try:
        with tempfile.TemporaryDirectory() as name:
            return _measure(Path(name))
    finally:
        ray.shutdown()


def _measure(folder: Path) -> list[dict[str, object]]:
    suite = _suite(folder)
    text = f"""name = "fake"
suite = "{suite}"
repeats = {TRIALS}
keep_artifacts = false
agents = [{{ name = "nop", kind = "nop" }}]
retry = {{ max = 0 }}
"""
    root = Root(folder / "results")
    frozen = freeze(parse_sweep(text, "fake"), load_suite(suite), root, datetime.now(UTC))
    moments: list[float] = []
    memory: dict[int, float] = {}

    def hear(event: str, fields: Mapping[str, object]) -> None:
        if event == "attempt":
            moments.append(time.perf_counter())
            if len(moments) in (TRIALS // 4, TRIALS - 1):
                memory[len(moments)] = resident_mb()

    options = PlaceOptions(provider="fake")

    def open_cluster() -> RayCluster:
        return RayCluster(partial(open_worker, options), facts(frozen), partial(reap_here, options))

    run_sweep(frozen, root, open_cluster, RunOptions(concurrency=2), hear)
    per_trial_ms = (moments[-1] - moments[0]) / (len(moments) - 1) * 1000
    early, late = memory[TRIALS // 4], memory[TRIALS - 1]
    return [
        {
            "name": f"orchestration alone, {TRIALS} trials",
            "value": per_trial_ms,
            "unit": "ms per trial",
            "aim": "<= 3",
            "holds": per_trial_ms <= 3,
        },
        {
            "name": "driver memory, end against a quarter of the way",
            "value": late / early,
            "unit": "x",
            "aim": "<= 1.1",
            "holds": late / early <= 1.1,
        },
    ]
