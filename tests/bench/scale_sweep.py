"""100,000 trials through Ray, scheduler and store with the fake sandbox: rate, memory, size, resuming, aggregating.

Memory is the driver's resident set; the rows are 2 agents x 100 tasks x 500 repeats, and the fake grader passes
about seven trials in ten.
"""

import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import ray

from orchestrator.agents.settings import AgentDeps, build_agent
from orchestrator.analysis.quick import quick_table
from orchestrator.analysis.summary import aggregate
from orchestrator.config import parse_sweep
from orchestrator.execution.assignment import SweepFacts
from orchestrator.execution.attempt import Place
from orchestrator.execution.freeze import Frozen, facts, freeze
from orchestrator.execution.inline_cluster import InlineCluster
from orchestrator.execution.place import PlaceOptions, _no_cores, reap_here
from orchestrator.execution.ray_cluster import RayCluster
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.session import RunOptions, run_sweep
from orchestrator.execution.worker import Worker
from orchestrator.storage.root import Root
from sandboxes.base import Command, ExecResult
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from sandboxes.labels import ATTEMPT
from sandboxes.snapshot import HostReadings
from suites.loading import load_suite
from tests.bench.orchestration_bench import resident_mb
from tests.bench.trial_bench import TASK

TASKS, REPEATS = 100, 500
PASSING_OF_10 = 7
REWARD = "/logs/verifier/reward.txt"


def graded(sandbox: FakeSandbox, command: Command) -> ExecResult:
    """Every command succeeds; a grader gives a reward that follows from the attempt's id."""
    if any("test.sh" in word for word in command.argv):
        lucky = zlib.crc32(sandbox.request.labels[ATTEMPT].encode()) % 10 < PASSING_OF_10
        sandbox.write(REWARD, b"1\n" if lucky else b"0\n")
    return answered()


def open_graded(options: PlaceOptions, sweep: SweepFacts) -> Worker:
    """A worker whose sandboxes are fake and whose graders give rewards."""
    fake = FakeProvider(graded)
    place = Place(fake, _no_cores, HostReadings, "scale")
    return Worker(sweep, place, partial(build_agent, deps=AgentDeps(host_env={})), fake.host())


def make_suite(folder: Path, tasks: int) -> Path:
    for number in range(tasks):
        task = folder / "suite" / f"task-{number:03}"
        (task / "tests").mkdir(parents=True)
        (task / "solution").mkdir()
        (task / "task.toml").write_text(TASK)
        (task / "instruction.md").write_text("Write hello into /tmp/answer.txt.\n")
        (task / "solution" / "solve.sh").write_text("#!/bin/bash\necho hello > /tmp/answer.txt\n")
        (task / "tests" / "test.sh").write_text("#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
    return folder / "suite"


def measure(tasks: int = TASKS, repeats: int = REPEATS) -> dict[str, float]:
    """Figures by name, of 2 x tasks x repeats trials."""
    connect(None)
    try:
        with tempfile.TemporaryDirectory() as name:
            return _measure(Path(name), tasks, repeats)
    finally:
        ray.shutdown()


def _measure(folder: Path, tasks: int, repeats: int) -> dict[str, float]:
    text = f"""name = "scale"
suite = "{make_suite(folder, tasks)}"
repeats = {repeats}
keep_artifacts = false
agents = [{{ name = "nop", kind = "nop" }}, {{ name = "oracle", kind = "oracle" }}]
retry = {{ max = 0 }}
"""
    total = tasks * repeats * 2
    root = Root(folder / "results")
    frozen = freeze(parse_sweep(text, "scale"), load_suite(folder / "suite"), root, datetime.now(UTC))
    options = PlaceOptions(provider="fake")
    moments: list[float] = []
    memory: dict[int, float] = {}
    marks = {total // 10: 10, total // 2: 50, total - 1: 100}

    def hear(event: str, fields: Mapping[str, object]) -> None:
        if event == "attempt":
            moments.append(time.perf_counter())
            if len(moments) in marks:
                memory[marks[len(moments)]] = resident_mb()

    def open_cluster() -> RayCluster:
        return RayCluster(partial(open_graded, options), facts(frozen), partial(reap_here, options))

    ended = run_sweep(frozen, root, open_cluster, RunOptions(concurrency=2), hear)
    assert ended.progress.done == total, ended
    files = [path.stat().st_size for path in Path(root.location, "trials").rglob("*.parquet")]
    folders = {path.parent for path in Path(root.location, "trials").rglob("*.parquet")}
    return {
        "trials": float(total),
        "trials_per_s": (len(moments) - 1) / (moments[-1] - moments[0]),
        "tenths_per_s_slowest": _slowest_tenth(moments),
        "driver_mb_at_10_percent": memory[10],
        "driver_mb_at_50_percent": memory[50],
        "driver_mb_at_100_percent": memory[100],
        "bytes_per_row": sum(files) / total,
        "files_per_partition": len(files) / len(folders),
        "transcript_bytes_per_trial": _transcript_bytes(root) / total,
        "resume_s": _timed(lambda: _resume(frozen, root)),
        "summary_s": _timed(lambda: quick_table(root.location)),
        "aggregate_s": _timed(lambda: aggregate([root.location])),
    }


def _slowest_tenth(moments: list[float]) -> float:
    """Trials per second in the slowest tenth of the sweep: whether it gets slower as rows pile up."""
    size = len(moments) // 10
    return min(size / (moments[i + size - 1] - moments[i]) for i in range(0, size * 9 + 1, size))


def _transcript_bytes(root: Root) -> int:
    return sum(path.stat().st_size for path in Path(root.location, "transcripts").rglob("*") if path.is_file())


def _resume(frozen: Frozen, root: Root) -> None:
    """The same sweep again, with every trial done: nothing is opened."""

    def never() -> InlineCluster:
        raise AssertionError("a cluster was opened although nothing was left to do")

    run_sweep(frozen, root, never, RunOptions(), lambda *_: None)


def _timed(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)
