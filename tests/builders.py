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
