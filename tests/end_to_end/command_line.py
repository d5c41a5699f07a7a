"""Runs the real command line on a sweep of its own, and reads what it left with DuckDB and the engine alone."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import duckdb

LONG_S = 420.0
PASSHAT = (sys.executable, "-m", "orchestrator.cli")


def passhat(*words: object, **env: str) -> subprocess.CompletedProcess[str]:
    """One command to its end, as a person starts it."""
    return subprocess.run(
        [*PASSHAT, *map(str, words)],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )


class Running:
    """`passhat run` in the background, with a process group of its own as a terminal gives it.

    Two trials at once, so that on a machine with many cores too there is a middle of the sweep.
    """

    def __init__(self, sweep: Path) -> None:
        self._output = sweep.with_suffix(".out")
        with open(self._output, "w", encoding="utf-8") as stream:
            self._process = subprocess.Popen(
                [*PASSHAT, "run", str(sweep), "--json", "--concurrency", "2"],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it has said so far; the line that is being written is left out."""
        lines = self._output.read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def await_attempts(self, count: int) -> None:
        """Wait until so many attempts have ended and are durable."""
        self.wait_for(lambda: sum(e["event"] == "attempt" for e in self.events) >= count)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition; fails at once when the command has ended before."""
        until = time.monotonic() + LONG_S
        while not condition():
            assert self._process.poll() is None, self._output.read_text()[-3000:]
            assert time.monotonic() < until, self._output.read_text()[-3000:]
            time.sleep(0.1)

    def ctrl_c(self) -> None:
        """As a terminal does: to every process of the group."""
        os.killpg(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        """The driver alone, without a chance to tidy up."""
        self._process.kill()
        self._process.wait(LONG_S)

    def ended(self) -> tuple[int, str]:
        """Exit code and all it said."""
        code = self._process.wait(LONG_S)
        return code, self._output.read_text(encoding="utf-8")


def rows(results: Path) -> list[dict[str, Any]]:
    """All rows, in plan order, read without passhat."""
    found = duckdb.sql(
        f"select * from read_parquet('{results}/trials/**/*.parquet', hive_partitioning = true)"
        " order by plan_position, attempt"
    )
    return [dict(zip(found.columns, values, strict=True)) for values in found.fetchall()]


def sweep_id(results: Path) -> str:
    (folder,) = (results / "sweeps").iterdir()
    return folder.name


def containers(results: Path) -> list[str]:
    """Attempt ids of what the sweep has in the engine, running or not."""
    client = docker.from_env()
    try:
        found = client.api.containers(all=True, filters={"label": f"passhat.sweep={sweep_id(results)}"})
    finally:
        client.close()
    return [container["Labels"]["passhat.attempt"] for container in found]


def assert_complete(found: list[dict[str, Any]], planned: int) -> None:
    """Every planned trial is settled exactly once, with a verdict, and no attempt is missing or doubled."""
    final = [row for row in found if row["final"]]
    assert len({row["trial_key"] for row in final}) == len(final) == planned
    assert all(row["passed"] is not None for row in final)
    attempts: dict[str, list[int]] = {}
    for row in found:
        attempts.setdefault(row["trial_key"], []).append(row["attempt"])
        assert row["attempt_id"] == f"{row['trial_key']}-{row['attempt']}"
    assert len(attempts) == planned
    for key, numbers in attempts.items():
        assert sorted(numbers) == list(range(len(numbers))), f"attempts of {key}"
        (last,) = (row["attempt"] for row in final if row["trial_key"] == key)
        assert last == len(numbers) - 1
