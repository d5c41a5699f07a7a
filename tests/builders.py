"""Values that tests need, made with little ado: a task folder with only what a test is about."""

from collections.abc import Mapping
from pathlib import Path

TEST_SH = "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"
IMAGE = '[environment]\ndocker_image = "conformance-base:latest"\n'


def make_task(folder: Path, toml: str = IMAGE, files: Mapping[str, str | None] | None = None) -> Path:
    """A task folder with an image, an instruction, tests and a solution; `files` adds, or None removes."""
    content: dict[str, str | None] = {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "tests/test.sh": TEST_SH,
        "solution/solve.sh": "#!/bin/bash\ntrue\n",
        **(files or {}),
    }
    for name, text in content.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return folder


def make_hello_task(folder: Path, cpus: float = 1.0, first: str = "") -> Path:
    """A task for the real engine: write hello to a file, off the network. `first`: what its solution does before."""
    toml = f"""[environment]
docker_image = "passhat-base:bookworm"
cpus = {cpus}
memory_mb = 128
network_mode = "no-network"
"""
    check = '[ "$(cat /tmp/answer.txt)" = hello ] && echo 1 > /logs/verifier/reward.txt\n'
    content = {"solution/solve.sh": f"{first}echo hello > /tmp/answer.txt\n", "tests/test.sh": check}
    return make_task(folder, toml, content)
