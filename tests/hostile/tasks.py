"""The tasks that are attacked: a secret word, and a small library to mend, each with both grading modes."""

import secrets
import shutil
from pathlib import Path

from sandboxes.bootstrap import BASE_REFERENCE
from tests.builders import make_task

ROOT = Path(__file__).parents[2]
MODES = ("shared", "separate")

_HEAD = f"""[agent]
timeout_sec = 40.0
[verifier]
timeout_sec = 130.0
[environment]
docker_image = "{BASE_REFERENCE}"
cpus = 1
memory_mb = 512
allow_internet = false
"""
_CHECK = """import os, pathlib
answer = pathlib.Path("/app/answer.txt")
word = ""
if answer.is_file() and not answer.is_symlink():
    with open(answer, errors="replace") as stream:
        word = stream.read(200).strip()
good = word == pathlib.Path("/tests/expected.txt").read_text().strip()
pathlib.Path("/logs/verifier/reward.txt").write_text("1" if good else "0")
"""


def write_answer_suite(folder: Path) -> Path:
    """Tasks answer-shared and answer-separate; the word is in the tests and in the solution only."""
    word = "word-is-" + secrets.token_hex(16)
    for mode in MODES:
        extra = f'workdir = "/"\n[passhat]\ngrading = "{mode}"\nartifacts = ["/app"]\n'
        files = {
            "tests/test.sh": "#!/bin/bash\ncat /tests/expected.txt > /dev/null\npython3 /tests/check.py\n",
            "tests/check.py": _CHECK,
            "tests/expected.txt": word + "\n",
            "solution/solve.sh": f"#!/bin/bash\nmkdir -p /app; echo {word} > /app/answer.txt\n",
            "environment/keep": "",
        }
        make_task(folder / f"answer-{mode}", _HEAD + extra, files)
    return folder


def write_library_suite(folder: Path) -> Path:
    """Tasks library-shared and library-separate, with the runner of the shipped suite."""
    shipped = next((ROOT / "suites" / "pybugs").glob("*/tests/run_checks.py")).parent
    for mode in MODES:
        extra = (
            f'[passhat]\ngrading = "{mode}"\nartifacts = ["/opt/library"]\n[[passhat.graders]]\nkind = "tests"\n'
            'fail_to_pass = ["fail_to_pass::test_double"]\npass_to_pass = ["pass_to_pass::test_name"]\n'
        )
        files = {
            "tests/fail_to_pass.py": "import tiny\n\ndef test_double():\n    value = tiny.double(2)\n    assert type(value) is int and value == 4\n",
            "tests/pass_to_pass.py": "import tiny\n\ndef test_name():\n    assert type(tiny.NAME) is str and tiny.NAME == 'tiny'\n",
            "solution/solve.sh": "#!/bin/bash\nmkdir -p /opt/library; printf 'NAME = \"tiny\"\\ndef double(x):\\n    return x * 2\\n' > /opt/library/tiny.py\n",
        }
        task = make_task(folder / f"library-{mode}", _HEAD + extra, files)
        for name in ("run_checks.py", "test.sh"):
            shutil.copy(shipped / name, task / "tests" / name)
    return folder
