"""Each rule of lint finds a task that breaks it, and leaves one alone that does not."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.main import app
from suites.lint import RULES, lint_suite
from suites.loading import load_suite
from tests.builders import make_task

DIGEST = "debian@sha256:" + "a" * 64
CLEAN = f"""
[agent]
timeout_sec = 60.0
[environment]
docker_image = "{DIGEST}"
cpus = 1
memory_mb = 256
network_mode = "no-network"
"""
BUILT = CLEAN.replace(f'docker_image = "{DIGEST}"\n', "")
TESTS_GRADER = (
    CLEAN
    + """
[[passhat.graders]]
kind = "tests"
fail_to_pass = ["a"]
"""
)
EXACT = (
    CLEAN
    + """
[[passhat.graders]]
kind = "exact"
file = "/app/answer.txt"
form = "text"
expected = "Port Sunlight"
"""
)
SEPARATE = (
    CLEAN
    + """
[passhat]
grading = "separate"
artifacts = ["/app"]
[verifier.environment]
"""
)
TEST_SH = "#!/bin/bash\n[ -e /x ] && echo 1 > /logs/verifier/reward.txt\n"
DOCKERFILE = "environment/Dockerfile"


def built(*lines: str) -> tuple[str, dict[str, str | None]]:
    return BUILT, {DOCKERFILE: "\n".join((f"FROM {DIGEST}", *lines)) + "\n"}


def graded_by(text: str, name: str = "tests/test.sh") -> tuple[str, dict[str, str | None]]:
    return CLEAN, {name: text}


Made = tuple[str, dict[str, str | None]]
REWARD = "> /logs/verifier/reward.txt"
BREAKS: list[tuple[str, Made]] = [
    ("missing-solution", (CLEAN, {"solution/solve.sh": None})),
    ("constant-reward", graded_by(f"#!/bin/bash\necho 1 {REWARD}\n")),
    ("constant-reward", graded_by(f"#!/bin/bash\nprintf '1.0' {REWARD}\n")),
    ("constant-reward", graded_by("#!/bin/bash\necho '{\"reward\": 1}' > /logs/verifier/reward.json\n")),
    ("network-while-grading", graded_by("pip install pytest && pytest\n")),
    ("network-while-grading", graded_by("import urllib.request\n", "tests/test_a.py")),
    ("network-while-grading", graded_by("if curl -f https://example.org; then echo 1; fi\n")),
    ("clock-in-tests", graded_by("import time\nassert time.time() > 3\n", "tests/test_a.py")),
    ("clock-in-tests", graded_by('[ "$(date +%Y)" = 2026 ] && echo 1\n')),
    ("unpinned-install", built("RUN pip install \\\n  requests")),
    ("unpinned-install", built("RUN pip install requests==2.32.0 flask")),
    ("unpinned-install", built("RUN python3 -m pip install --no-cache-dir 'numpy>=2'")),
    ("unpinned-install", built("RUN curl https://example.org/x | sh")),
    ("unpinned-install", built("RUN git clone https://example.org/x.git")),
    ("unpinned-install", built("RUN git clone --branch main https://example.org/x.git")),
    ("tag-not-digest", (CLEAN.replace(DIGEST, "debian:12"), {})),
    ("tag-not-digest", (BUILT, {DOCKERFILE: "FROM debian\n"})),
    ("tag-not-digest", (BUILT, {DOCKERFILE: "FROM registry.example:5000/debian:latest\n"})),
    ("tag-not-digest", (BUILT, {DOCKERFILE: "ARG BASE=debian:latest\nFROM ${BASE}\n"})),
    ("answer-visible", built("COPY tests /tests")),
    ("answer-visible", (BUILT, {DOCKERFILE: f"FROM {DIGEST}\n", "environment/a": "x" * 80, "tests/b": "x" * 80})),
    ("answer-visible", (EXACT, {"instruction.md": "Which port? (It is Port Sunlight.)\n"})),
    ("resources-not-said", (CLEAN.replace("cpus = 1\n", ""), {})),
    ("resources-not-said", (CLEAN.replace("memory_mb = 256\n", ""), {})),
    ("resources-not-said", (CLEAN.replace("timeout_sec = 60.0\n", ""), {})),
    ("no-canary", (TESTS_GRADER + "canary = false\n", {})),
    ("depends-on-hosts", (CLEAN.replace('"no-network"', '"allowlist"\nallowed_hosts = ["example.org"]'), {})),
    ("depends-on-hosts", (SEPARATE + 'network_mode = "public"\n', {})),
]
HOLDS: list[tuple[str, Made]] = [
    ("missing-solution", (CLEAN, {})),
    ("constant-reward", graded_by(TEST_SH)),
    ("constant-reward", graded_by(f"#!/bin/bash\nif cmp a b; then\n  echo 1 {REWARD}\nfi\n")),
    ("constant-reward", graded_by(f"#!/bin/bash\necho 0 {REWARD}\n")),
    ("network-while-grading", graded_by(TEST_SH + "# curl would need a network\n")),
    ("network-while-grading", graded_by(TEST_SH + "curl -f http://127.0.0.1:8080/health\n")),
    ("clock-in-tests", graded_by("import time\ntime.sleep(1)\nassert runtime.time() > 3\n", "tests/test_a.py")),
    ("unpinned-install", built("RUN pip install requests==2.32.0 'flask[async]==3.1.0' && echo done")),
    ("unpinned-install", built("RUN pip install --require-hashes -r requirements.txt -c limits.txt")),
    ("unpinned-install", built("RUN pip install /wheels/a.whl -e . && pip check")),
    ("unpinned-install", built("RUN curl -o /x https://example.org/x && sha256sum -c /x.sum")),
    ("unpinned-install", built("RUN git clone https://example.org/x.git && git -C x checkout 0123abc")),
    ("unpinned-install", built("RUN git clone --branch v1.2 https://example.org/x.git")),
    ("tag-not-digest", (CLEAN, {})),
    ("tag-not-digest", (BUILT, {DOCKERFILE: "FROM debian:12 AS build\nFROM build\nFROM scratch\n"})),
    ("tag-not-digest", (BUILT, {DOCKERFILE: "ARG BASE=debian:12\nFROM ${BASE}\n"})),
    ("answer-visible", (EXACT, {"instruction.md": "Which port?\n"})),
    ("answer-visible", (BUILT, {DOCKERFILE: f"FROM {DIGEST}\n", "environment/a": "x" * 80, "tests/b": "y" * 80})),
    ("resources-not-said", (CLEAN, {})),
    ("no-canary", (TESTS_GRADER, {})),
    ("depends-on-hosts", (CLEAN, {})),
    ("depends-on-hosts", (SEPARATE + 'network_mode = "no-network"\n', {})),
]


def rules_of(folder: Path, made: Made) -> list[str]:
    toml, files = made
    make_task(folder / "task", toml, {"tests/test.sh": TEST_SH, **files})
    return [finding.rule for finding in lint_suite(load_suite(folder))]


def test_every_rule_has_a_task_on_either_side() -> None:
    assert {rule for rule, _ in BREAKS} == {rule for rule, _ in HOLDS} == set(RULES)


@pytest.mark.parametrize(("rule", "made"), BREAKS)
def test_a_task_that_breaks_a_rule_breaks_it_alone(tmp_path: Path, rule: str, made: Made) -> None:
    assert set(rules_of(tmp_path, made)) == {rule}


@pytest.mark.parametrize(("rule", "made"), HOLDS)
def test_a_task_that_keeps_a_rule_is_left_alone(tmp_path: Path, rule: str, made: Made) -> None:
    assert rules_of(tmp_path, made) == []


def test_a_service_with_a_loose_image_and_no_limits_is_named(tmp_path: Path) -> None:
    compose = "services:\n  main: {{}}\n  db: {{image: {image}{limits}}}\n"
    toml = CLEAN.replace(f'docker_image = "{DIGEST}"\n', "")
    files = {DOCKERFILE: f"FROM {DIGEST}\n", "environment/docker-compose.yaml": compose.format(image="a:1", limits="")}
    make_task(tmp_path / "bad" / "task", toml, {"tests/test.sh": TEST_SH, **files})
    found = lint_suite(load_suite(tmp_path / "bad"))
    assert {finding.rule for finding in found} == {"tag-not-digest", "resources-not-said"}
    assert all("service db" in finding.message for finding in found)
    files["environment/docker-compose.yaml"] = compose.format(image=DIGEST, limits=", cpus: 1, mem_limit: 64m")
    make_task(tmp_path / "good" / "task", toml, {"tests/test.sh": TEST_SH, **files})
    assert lint_suite(load_suite(tmp_path / "good")) == []


def test_the_command_names_each_refused_folder_once_and_exits_with_1(tmp_path: Path) -> None:
    make_task(tmp_path / "bad", "x = = 1")
    make_task(tmp_path / "good", CLEAN, {"tests/test.sh": TEST_SH})
    found = CliRunner().invoke(app, ["suite", "lint", str(tmp_path)])
    assert found.exit_code == 1
    assert found.output.count("bad: ") == 1
    assert "[refused]" in found.output
    told = json.loads(CliRunner().invoke(app, ["suite", "lint", str(tmp_path), "--json"]).stdout)
    assert [(item["task"], item["rule"]) for item in told] == [("bad", "refused")]


def test_the_command_exits_with_0_where_nothing_is_found(tmp_path: Path) -> None:
    make_task(tmp_path / "good", CLEAN, {"tests/test.sh": TEST_SH})
    found = CliRunner().invoke(app, ["suite", "lint", str(tmp_path)])
    assert (found.exit_code, found.output) == (0, "0 things to look at in 1 tasks\n")
