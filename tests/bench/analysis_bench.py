"""How fast rows become cells, against DuckDB's own group-by of the same files, and how fast a report is made.

`rows()` -> list of {name, value, unit, aim, holds}. The rows are simulated once into build/bench-rows.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth

FOLDER = Path("build/bench-rows")
TEN_MILLION = Truth(
    agents=(AgentTruth("agent-a"), AgentTruth("agent-b")),
    settings=(SettingTruth("1x", "1.0", 0.1, 0.02), SettingTruth("3x")),
    days=5,
    tasks=5000,
    repeats=99,
)
FIFTY_ARMS = Truth(
    agents=tuple(AgentTruth(f"agent-{i:02d}", ability=i / 20) for i in range(25)),
    settings=(SettingTruth("1x", "1.0", 0.1, 0.02), SettingTruth("3x")),
    days=5,
    tasks=500,
    repeats=10,
    judged=True,
)


def rows() -> list[dict[str, object]]:
    """The figures, each measured in a process of its own."""
    for name, truth, files in (
        ("files-20", TEN_MILLION, 1),
        ("files-2000", TEN_MILLION, 100),
        ("arms-50", FIFTY_ARMS, 1),
    ):
        if not (FOLDER / name / "trials").is_dir():
            Simulation.of(truth).write(FOLDER / name, files=files)
    theirs = min(measured("duckdb", "files-20")[0] for _ in range(2))
    few = sorted(measured("cells", "files-20") for _ in range(2))[0]
    many = sorted(measured("cells", "files-2000") for _ in range(2))[0]
    whole = measured("report", "arms-50")
    size = whole[2] / 1e6
    return [
        row(
            "10 million rows in 20 files to 300,000 cells, against DuckDB",
            few[0] / theirs,
            "ratio",
            "<= 1",
            few[0] <= theirs,
        ),
        row("the same: peak memory", few[1], "MB", "< 500", few[1] < 500),
        row(
            "10 million rows in 2,000 files, against DuckDB in 20",
            many[0] / theirs,
            "ratio",
            "<= 2",
            many[0] <= 2 * theirs,
        ),
        row("the same: peak memory", many[1], "MB", "< 500", many[1] < 500),
        row("report of 50 arms x 500 tasks x 10 repeats x 5 days", whole[0], "s", "< 10", whole[0] < 10),
        row("the same: size of the file", size, "MB", "< 5", size < 5),
    ]


def row(name: str, value: float, unit: str, aim: str, holds: bool) -> dict[str, object]:
    return {"name": name, "value": value, "unit": unit, "aim": aim, "holds": holds}


def measured(what: str, folder: str) -> tuple[float, float, float]:
    """Seconds, peak MB and a size in bytes of one job in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.analysis_bench", what, str(FOLDER / folder)],
        check=True, capture_output=True, text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )  # fmt: skip
    seconds, peak, size = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak, size


def _cells(folder: str) -> int:
    from orchestrator.analysis.cells import read_cells
    from orchestrator.analysis.rows import row_files

    return len(read_cells(row_files([folder])))


def _duckdb(folder: str) -> int:
    import duckdb

    from orchestrator.analysis.cells import CELL_KEYS, STATUSES

    counts = ", ".join(f"count(*) filter (status = '{s}' and final and not suspect)" for s in STATUSES)
    query = (
        f"create table cells as select {', '.join(CELL_KEYS)}, {counts}, count(*) filter (final and suspect), count(*), "
        "sum(score) filter (final and not suspect), sum(score * score) filter (final and not suspect), sum(cost_usd), "
        "count(cost_usd), count(*) filter (final and not suspect and used_oom_kills > 0) "
        f"from read_parquet('{folder}/trials/**/*.parquet', hive_partitioning = true) group by all"
    )
    connection = duckdb.connect()
    connection.execute(query)
    found = connection.execute("select count(*) from cells").fetchone()
    return int(found[0]) if found else 0


def _report(folder: str) -> int:
    from orchestrator.analysis.summary import aggregate
    from orchestrator.report.page import page
    from orchestrator.report.vega import warm_up

    warm_up()
    text = page(aggregate([folder]))
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(text)
    return len(text.encode())


def _job(what: str, folder: str) -> None:
    job = {"cells": _cells, "duckdb": _duckdb, "report": _report}[what]
    begin = time.perf_counter()
    size = job(folder)
    seconds = time.perf_counter() - begin
    print(json.dumps([seconds, _peak_megabytes(), size]))


def _peak_megabytes() -> float:
    """This program's own peak: getrusage's also holds what its parent had before exec."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    _job(sys.argv[1], sys.argv[2])
