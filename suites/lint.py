"""What makes graders wrong, found by reading a task and running nothing.

Findings are advice: each names the task, the rule, the file, and what to do. A rule can be wrong about one
task; `passhat suite check`, which runs the oracle and nop, has the last word.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from suites.dockerfiles import clones_newest, lines, loose_bases, loose_packages
from suites.files import walk
from suites.task import Suite, Task

MAX_READ_BYTES = 1_000_000
SHORT_BYTES, SHORT_ANSWER = 40, 8
NETWORK = re.compile(
    r"\b(curl|wget|git clone|apt-get|apt install|pip3? install|npm install|uvx?\b|urllib\.request|requests\.get)"
)
CLOCK = re.compile(r"\bdate \+|datetime\.(now|today|utcnow)|\btime\.time\(|\bSECONDS\b")
REWARD_ONE = re.compile(
    r"""^\s*(?:echo|printf)\s+["']?(?:1(?:\.0)?|\{\s*\\?"reward\\?":\s*1(?:\.0)?\s*\})(?:\\n)?["']?\s*>\s*"""
    r"""/logs/verifier/reward\.(?:txt|json)""",
    re.MULTILINE,
)
CONDITION = re.compile(r"\b(if|test|python3?|pytest|grep|diff|cmp)\b|\[|&&|\|\|")
LOCAL = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]|--no-index")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at: which rule, in which file of which task, and what to do."""

    task: str
    rule: str
    file: str
    message: str


def lint_suite(suite: Suite) -> list[Finding]:
    """All findings of a suite, its refused folders first, then by task in the suite's order."""
    found = [Finding(name, "refused", "task.toml", reason) for name, reason in suite.refused]
    for task in suite.tasks:
        found += lint_task(task)
    return found


def lint_task(task: Task) -> list[Finding]:
    """All findings of one task."""
    return [Finding(task.name, rule, file, message) for rule, check in RULES.items() for file, message in check(task)]


def _solution(task: Task) -> Iterator[tuple[str, str]]:
    for step in task.steps:
        if step.solution_dir is None:
            where = f"steps/{step.name}/solution" if step.name else "solution"
            yield where, "there is no reference solution, so nobody knows that the task can be solved: write one"


def _constant_reward(task: Task) -> Iterator[tuple[str, str]]:
    for name, text in _tests(task):
        if name.endswith("test.sh") and REWARD_ONE.search(text) and not CONDITION.search(text):
            yield name, "it gives the reward 1 under no condition, so doing nothing passes: compare something"


def _network(task: Task) -> Iterator[tuple[str, str]]:
    for name, text in _tests(task):
        read = (line for line in lines(text) if not line.lstrip().startswith("#") and not LOCAL.search(line))
        match = next((found for found in map(NETWORK.search, read) if found), None)
        if match:
            yield name, f"{match.group(1)!r} needs a network while grading: put it into the image"


def _clock(task: Task) -> Iterator[tuple[str, str]]:
    for name, text in _tests(task):
        match = CLOCK.search(text)
        if match:
            yield name, f"{match.group(0).strip()!r} reads the clock, so the verdict may change by itself: use none"


def _installs(task: Task) -> Iterator[tuple[str, str]]:
    for name, text in _dockerfiles(task):
        for line in lines(text):
            loose = loose_packages(line)
            if loose:
                yield name, f"pip installs {', '.join(loose)} without a version: pin every package, best with hashes"
            if re.search(r"\b(curl|wget)\b.*\|\s*(ba)?sh\b", line):
                yield name, "a script from the network is run as it comes: fetch a version with its checksum"
            if clones_newest(line, text):
                yield name, "git clones whatever is newest: check out a commit"


def _images(task: Task) -> Iterator[tuple[str, str]]:
    reference = task.image.reference
    if reference is not None and "@sha256:" not in reference:
        yield "task.toml", f"{reference!r} is a tag, which may name another image tomorrow: use a digest"
    for service in task.services:
        name = service.image.reference
        if name is not None and "@sha256:" not in name:
            where = f"service {service.name}: {name!r} is a tag, which may name another image tomorrow: use a digest"
            yield _compose_name(task), where
    for name, text in _dockerfiles(task):
        for base in loose_bases(text):
            yield name, f"FROM {base} names no version: use a version, or a digest"


def _answers(task: Task) -> Iterator[tuple[str, str]]:
    hidden = {path.read_bytes(): path for path in _hidden(task) if path.stat().st_size > SHORT_BYTES}
    for path in _visible(task):
        twin = hidden.get(path.read_bytes()) if path.stat().st_size <= MAX_READ_BYTES else None
        if twin is not None:
            where = path.relative_to(task.folder).as_posix()
            yield where, f"the same bytes are in {twin.relative_to(task.folder)}: the agent can read them"
    for name, text in _dockerfiles(task):
        if re.search(r"^(COPY|ADD)\s.*\b(tests|solution)\b", text, re.MULTILINE):
            yield name, "tests or the solution are copied into the image: the agent can read them"
    for step in task.steps:
        for grader in step.grading.graders:
            expected = grader.settings.get("expected")
            if isinstance(expected, str) and len(expected) > SHORT_ANSWER and expected in step.instruction:
                yield "instruction.md", f"the expected answer {expected!r} stands in the instruction"


def _limits(task: Task) -> Iterator[tuple[str, str]]:
    for key, value in (("cpus", task.asked.cpus), ("memory_mb", task.asked.memory_mb)):
        if value is None:
            yield "task.toml", f"environment.{key} is not said, so the sweep's default decides: say what it needs"
    for service in task.services:
        if not service.said:
            promise = f"{service.asked.cpus:g} cores and {service.asked.memory_mb} MiB"
            yield _compose_name(task), f"service {service.name} says no limits, so it is promised {promise}: say them"
    if any(step.agent_timeout_s is None for step in task.steps):
        yield "task.toml", "agent.timeout_sec is not said: without it an agent may take as long as the sweep allows"


def _allowlist(task: Task) -> Iterator[tuple[str, str]]:
    """Whoever answers at a named host may answer otherwise tomorrow, and takes whatever it is sent."""
    if task.network.mode == "allowlist":
        hosts = ", ".join(task.network.allowed_hosts)
        yield "task.toml", f"the agent reaches {hosts}, so the result depends on them: put what it needs into the image"
    for step in task.steps:
        if step.grading.mode == "separate" and step.grading.network.mode != "none":
            yield "task.toml", f"its grader has network {step.grading.network.mode!r}: grade without one"


def _compose_name(task: Task) -> str:
    return "task.toml" if task.compose_file is None else task.compose_file.relative_to(task.folder).as_posix()


def _canary(task: Task) -> Iterator[tuple[str, str]]:
    for step in task.steps:
        for grader in step.grading.graders:
            if grader.kind == "tests" and grader.settings.get("canary") is False:
                yield "task.toml", "no test that must fail: a patched test runner would not show itself"


def _tests(task: Task) -> Iterator[tuple[str, str]]:
    for path in _hidden(task):
        relative = path.relative_to(task.folder)
        if (
            "solution" not in relative.parts
            and path.suffix in (".sh", ".py", "")
            and relative.parts[0] != "environment"
        ):
            yield relative.as_posix(), _text(path)


def _hidden(task: Task) -> Iterator[Path]:
    for name in ("tests", "solution", "steps"):
        for path in sorted(walk(task.folder / name)):
            if path.is_file() and not path.is_symlink() and "workdir" not in path.relative_to(task.folder).parts:
                yield path


def _visible(task: Task) -> Iterator[Path]:
    for path in sorted(walk(task.folder / "environment")):
        if path.is_file() and not path.is_symlink():
            yield path


def _dockerfiles(task: Task) -> Iterator[tuple[str, str]]:
    for path in sorted(task.folder.rglob("Dockerfile")):
        if path.is_file():
            yield path.relative_to(task.folder).as_posix(), _text(path)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MAX_READ_BYTES).decode("utf-8", errors="replace")


RULES: dict[str, Callable[[Task], Iterator[tuple[str, str]]]] = {
    "missing-solution": _solution,
    "constant-reward": _constant_reward,
    "network-while-grading": _network,
    "clock-in-tests": _clock,
    "unpinned-install": _installs,
    "tag-not-digest": _images,
    "answer-visible": _answers,
    "resources-not-said": _limits,
    "no-canary": _canary,
    "depends-on-hosts": _allowlist,
}
