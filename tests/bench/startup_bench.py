"""How long `passhat --help` takes, against a bare interpreter in the same run."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 9


def _seconds(argv: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def rows() -> list[dict[str, object]]:
    program = str(Path(sys.executable).with_name("passhat"))
    helps, bare = [], []
    for _ in range(RUNS):
        helps.append(_seconds([program, "--help"]))
        bare.append(_seconds([sys.executable, "-c", "pass"]))
    median = statistics.median(helps)
    ratio = median / statistics.median(bare)
    return [
        {"name": "passhat --help", "value": median, "unit": "s", "aim": "< 0.3", "holds": median < 0.3},
        {
            "name": "passhat --help against a bare interpreter",
            "value": ratio,
            "unit": "x",
            "aim": "none",
            "holds": True,
        },
    ]
