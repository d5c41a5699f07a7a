"""A skeleton of a task folder that loads, whose oracle passes and whose nop does not."""

import json
from pathlib import Path

from suites.errors import TaskError

TASK_TOML = """schema_version = "1.4"

[task]
name = {name}

[metadata]
difficulty = "easy"
tags = []

[agent]
timeout_sec = 600.0

[verifier]
timeout_sec = 60.0

[environment]
cpus = 1
memory_mb = 512
network_mode = "no-network"
workdir = "/app"

[passhat]
cluster = {name}
grading = "separate"
artifacts = ["/app"]
"""
FILES = {
    "instruction.md": "Write the word `done` into `/app/answer.txt`.\n",
    "environment/Dockerfile": "ARG BASE=python:3.11-slim-bookworm\nFROM ${BASE}\nRUN mkdir /app\nWORKDIR /app\n",
    "tests/test.sh": (
        "#!/bin/bash\n"
        "# Runs as root in a container that holds only the artifacts; writes the reward, 1 or 0.\n"
        'if [ "$(cat /app/answer.txt 2>/dev/null)" = done ]; then echo 1; else echo 0; fi'
        " > /logs/verifier/reward.txt\n"
    ),
    "solution/solve.sh": "#!/bin/bash\necho done > /app/answer.txt\n",
}


def new_task(folder: Path) -> list[Path]:
    """Write the skeleton; nothing that is there is overwritten. Raises TaskError when something is.

    Returns the files, in the order in which to edit them.
    """
    if folder.exists() and any(folder.iterdir()):
        raise TaskError(f"a new task was asked for at {folder}, and something is there: give another path")
    content = {"task.toml": TASK_TOML.format(name=json.dumps(folder.resolve().name)), **FILES}
    return write_files(folder, content)


def write_files(folder: Path, content: dict[str, str]) -> list[Path]:
    """Write files below a folder; scripts can be run."""
    written = []
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if name.endswith(".sh"):
            path.chmod(0o755)
        written.append(path)
    return written
