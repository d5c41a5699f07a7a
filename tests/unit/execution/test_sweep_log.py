"""The log of a sweep never fails a sweep: what a full disk cost it is told when there is room again."""

import json
import os
from pathlib import Path

from orchestrator.execution.sweep_log import LogFile, open_log


def test_lines_are_json_with_their_time_and_level(tmp_path: Path) -> None:
    path = tmp_path / "sweeps" / "s" / "log.jsonl"
    for number in range(2):
        with open_log(path) as log:
            log.warning("engine", message=f"slow {number}", at=Path("/x"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["event"], line["level"], line["message"]) for line in lines] == [
        ("engine", "warning", "slow 0"),
        ("engine", "warning", "slow 1"),
    ]
    assert all(line["timestamp"].endswith("Z") for line in lines)


def test_a_full_disk_costs_lines_which_are_counted(tmp_path: Path) -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    log = LogFile(descriptor)
    log.write('{"event": "a"}\n')
    log.write('{"event": "b"}\n')
    there = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    os.dup2(there, descriptor)
    log.write('{"event": "c"}\n')
    log.write('{"event": "d"}\n')
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert lines == [{"event": "log_lines_lost", "count": 2}, {"event": "c"}, {"event": "d"}]
    os.close(there)
    os.close(descriptor)
