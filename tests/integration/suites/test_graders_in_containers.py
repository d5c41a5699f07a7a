"""Grading against a real engine: what a hostile agent leaves behind, and what hostile code under test can do."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandboxes.base import Command, FileEntry, ImageSource, NetworkSpec, Sandbox, SandboxRequest
from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider
from sandboxes.resources import Placement, ResourceSpec
from suites.artifacts import collect, put_back
from suites.files import entries_below, fresh_folder
from suites.graders import combine_steps, grade
from suites.grading import Verdict
from suites.loading import load_suite, load_task
from suites.task import Task
from tests.builders import make_task

pytestmark = pytest.mark.docker
ROOT = Path(__file__).parents[3]
IMAGE = f'[environment]\ndocker_image = "{BASE_REFERENCE}"\n'


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider()
    yield made
    made.close()


@pytest.fixture
def place(provider: DockerProvider) -> Iterator[Callable[[], Sandbox]]:
    made: list[Sandbox] = []

    def make() -> Sandbox:
        image = provider.ensure_image(ImageSource(reference=BASE_REFERENCE))
        resources = ResourceSpec(pinned=False, memory_mb=256, memory_limit_mb=256)
        labels = {"passhat.attempt": "test-suites"}
        made.append(provider.create(SandboxRequest(image, resources, Placement(), labels, 120.0, NetworkSpec("none"))))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.remove()


def bash(sandbox: Sandbox, script: str) -> str:
    result = sandbox.exec(Command(("/bin/bash", "-c", script), timeout_s=30.0))
    return result.stdout.text() + result.stderr.text()


def judged(task: Task, sandbox: Sandbox) -> Verdict:
    step = task.steps[0]
    return grade(sandbox, task, step, step.grading, time.monotonic)


def test_a_fresh_folder_takes_the_place_of_whatever_was_there(place: Callable[[], Sandbox]) -> None:
    sandbox = place()
    bash(sandbox, "mkdir -p /a/deep /real && touch /a/deep/old /real/kept; ln -s /real /b; mkfifo /c; touch /d")
    for path in ("/a", "/b", "/c", "/d"):
        sandbox.put([*fresh_folder(path), FileEntry(f"{path}/new", b"x")])
    assert bash(sandbox, "find /a /b /c /d /real | sort").split() == [
        *("/a", "/a/new", "/b", "/b/new", "/c", "/c/new", "/d", "/d/new"),
        *("/real", "/real/kept"),
    ]


def test_what_a_hostile_agent_leaves_decides_nothing(place: Callable[[], Sandbox], tmp_path: Path) -> None:
    test = "#!/bin/bash\nls -A /tests /logs/verifier; env; [ -e /done ] && echo 1 > /logs/verifier/reward.txt\n"
    task = load_task(make_task(tmp_path, IMAGE + "[passhat]\n", {"tests/test.sh": test}), {})[0]
    sandbox = place()
    bash(
        sandbox,
        "mkdir -p /logs /tests /home/x; echo 1 > /home/x/reward.txt; ln -s /home/x /logs/verifier; touch /tests/conftest.py;"
        " echo 'export EVIL=1' > /root/.bashrc; cp /root/.bashrc /etc/profile.d/x.sh; cp /root/.bashrc /etc/bash.bashrc",
    )
    verdict = judged(task, sandbox)
    assert verdict.error_kind == "missing"
    assert "conftest" not in verdict.details
    assert "EVIL" not in verdict.details
    bash(sandbox, "touch /done")
    assert judged(task, sandbox).passed is True


@pytest.mark.parametrize(
    "left",
    [
        "mkfifo {}",
        "ln -s /home/one {}",
        "mkdir {}",
        "head -c 200000 /dev/zero | tr '\\0' ' ' > {}",
        "truncate -s 1T {}",
    ],
)
def test_no_regular_small_file_is_no_reward(place: Callable[[], Sandbox], tmp_path: Path, left: str) -> None:
    script = "#!/bin/bash\necho 1 > /home/one; " + left.format("/logs/verifier/reward.txt") + "\n"
    task = load_task(make_task(tmp_path, IMAGE, {"tests/test.sh": script}), {})[0]
    verdict = judged(task, place())
    assert verdict.passed is None
    assert verdict.error_kind in ("missing", "not_a_file", "too_large")


def test_nothing_that_the_tests_started_writes_the_reward_later(place: Callable[[], Sandbox], tmp_path: Path) -> None:
    script = "#!/bin/bash\nsetsid nohup sh -c 'sleep 1; echo 1 > /logs/verifier/reward.txt' >/dev/null 2>&1 &\n"
    task = load_task(make_task(tmp_path, IMAGE, {"tests/test.sh": script}), {})[0]
    sandbox = place()
    assert judged(task, sandbox).error_kind == "missing"
    assert sandbox.processes() == []


CHECKS = {
    "fail_to_pass": "import tiny\n\ndef test_double():\n    assert tiny.double(2) == 4\n",
    "pass_to_pass": "import tiny\n\ndef test_name():\n    assert tiny.NAME == 'tiny'\n",
}
GOOD = "NAME = 'tiny'\ndef double(x):\n    return x * 2\n"


def judge_library(place: Callable[[], Sandbox], tmp_path: Path, files: dict[str, str]) -> Verdict:
    """The runner of suites/pybugs on a library of one module, from one container into another."""
    toml = IMAGE + (
        '[passhat]\ngrading = "separate"\nartifacts = ["/opt/library"]\n[[passhat.graders]]\nkind = "tests"\n'
        'fail_to_pass = ["fail_to_pass::test_double"]\npass_to_pass = ["pass_to_pass::test_name"]\n'
    )
    shipped = next((ROOT / "suites" / "pybugs").glob("*/tests/run_checks.py")).parent
    folder = make_task(tmp_path / "task", toml, {f"tests/{name}.py": text for name, text in CHECKS.items()})
    for name in ("run_checks.py", "test.sh"):
        shutil.copy(shipped / name, folder / "tests" / name)
    task = load_task(folder, {})[0]
    agents, graders = place(), place()
    agents.put([FileEntry(f"/opt/library/{name}", text.encode()) for name, text in files.items()])
    step = task.steps[0]
    put_back(graders, collect(agents, step, step.grading))
    return grade(graders, task, step, step.grading, time.monotonic)


def test_a_right_library_passes(place: Callable[[], Sandbox], tmp_path: Path) -> None:
    verdict = judge_library(place, tmp_path, {"tiny.py": GOOD})
    assert (verdict.passed, verdict.flags) == (True, ())


FAKE = "import os, sys, json\nfor name in ('report.json', 'reward.txt'):\n    try:\n        open('/logs/verifier/' + name, 'w').write('1')\n    except OSError as e:\n        print('refused', e)\n"


@pytest.mark.parametrize(
    ("files", "flags"),
    [
        ({"tiny.py": GOOD.replace("* 2", "+ 1")}, ()),
        ({"tiny.py": "import os\nos._exit(0)\n"}, ()),
        ({"tiny.py": GOOD.replace("return x * 2", "import os; os._exit(0)")}, ()),
        ({"tiny.py": GOOD.replace("return x * 2", "raise SystemExit(0)")}, ()),
        ({"tiny.py": GOOD.replace("* 2", "+ 1") + FAKE}, ()),
        ({"tiny.py": GOOD.replace("* 2", "+ 1"), "sitecustomize.py": FAKE, "json.py": "loads = print"}, ()),
        ({"tiny.py": GOOD.replace("* 2", "+ 1") + "import os, time\nif not os.fork():\n    os.setsid(); time.sleep(60)\n"}, ()),
        ({"tiny.py": GOOD.replace("* 2", "+ 1") + "import sys\nmain = sys.modules['__main__']\nmain.one_check = lambda check, name, keys: keys[0]\n"}, ("canary_passed",)),
        ({"other.py": ""}, ()),
    ],
)  # fmt: skip
def test_a_hostile_library_does_not_pass(
    place: Callable[[], Sandbox], tmp_path: Path, files: dict[str, str], flags: tuple[str, ...]
) -> None:
    verdict = judge_library(place, tmp_path, files)
    assert (verdict.passed, verdict.error_kind) == (False, None)
    assert set(flags) <= set(verdict.flags)


@pytest.mark.parametrize("name", ["noop", "multi", "oom"])
def test_the_probe_tasks_are_graded_as_their_format_says(
    place: Callable[[], Sandbox], provider: DockerProvider, name: str
) -> None:
    (task,) = load_suite(ROOT / "tests" / "data" / "harbor-tasks" / name).tasks
    for solved in (True, False):
        sandbox, verdicts = place(), []
        sandbox.put([FileEntry(f"/logs/{folder}", mode=0o777) for folder in ("agent", "artifacts")])
        for step in task.steps:
            if solved and name != "oom":
                assert step.solution_dir is not None
                sandbox.put(entries_below(step.solution_dir, "/solution", task.folder))
                bash(sandbox, "bash /solution/solve.sh")
            sandbox.kill_processes()
            verdicts.append(grade(sandbox, task, step, step.grading, time.monotonic))
        verdict = combine_steps(task, verdicts)
        assert verdict.passed is (True if solved and name != "oom" else None if name == "multi" else False)
        if name == "multi" and solved:
            assert verdict.rewards == {"reward": 1.0, "speed": 0.5}
