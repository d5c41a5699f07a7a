"""The files of imported tasks, as templates. Holds text only."""

REPO_TOML = """schema_version = "1.4"

[task]
name = {name}

[metadata]
difficulty = {difficulty}

[agent]
timeout_sec = 1800.0

[verifier]
timeout_sec = 900.0

[environment]
{image}cpus = 1
memory_mb = 2048
network_mode = "no-network"
workdir = "/testbed"

[passhat]
cluster = {cluster}
grading = "separate"
artifacts = ["/testbed"]
image_env = true

[[passhat.graders]]
kind = "tests"
fail_to_pass = {fail_to_pass}
pass_to_pass = {pass_to_pass}
"""
REPO_DOCKERFILE = """ARG BASE=python:3.11-slim-bookworm
FROM ${{BASE}}
ADD repo.tar.gz /testbed
WORKDIR /testbed
{install}# Graded with these: without them no trial could pass.
RUN python3 -m pytest --version && {{ command -v git || command -v patch; }}
"""
SOLVE_SH = """#!/bin/bash
cd /testbed
git apply /solution/solution.patch || patch -p1 --forward --batch < /solution/solution.patch
"""
REPO_TEST_SH = """#!/bin/bash
cd /testbed
git apply /tests/test.patch || patch -p1 --forward --batch < /tests/test.patch
exec python3 /tests/run_pytest.py
"""
RUN_PYTEST = '''"""Runs the named tests with pytest and reports each, with one test of a random name that must fail.

The repository's code runs in pytest's process, as it does wherever such tasks are graded; whether a test
passed is what pytest printed. The test that must fail shows a runner that was patched to pass everything.
"""

import json
import re
import secrets
import subprocess
import sys
from pathlib import Path

names = json.loads(Path("/tests/names.json").read_text(encoding="utf-8"))
files = sorted({name.split("::")[0] for name in names})
canary = Path(f"test_{secrets.token_hex(8)}.py")
canary.write_text("def test_it():\\n    assert 1 + 1 == 3\\n")
command = [sys.executable, "-m", "pytest", "-rA", "--tb=short", "-p", "no:cacheprovider", *files, str(canary)]
printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace").stdout
print(printed)
states = {"PASSED": "passed", "FAILED": "failed", "ERROR": "error", "SKIPPED": "skipped", "XFAIL": "passed", "XPASS": "failed"}
found = {}
for line in printed.rpartition("short test summary info")[2].splitlines():
    match = re.match(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+?)(?: - .*)?$", line)
    if match:
        found[match.group(2)] = states[match.group(1)]
report = {
    "tests": {name: found.get(name, "error") for name in names},
    "canary": found.get(f"{canary}::test_it", "missing"),
}
Path("/logs/verifier/report.json").write_text(json.dumps(report))
'''
QUESTION_TOML = """schema_version = "1.4"

[task]
name = {name}

[metadata]
difficulty = {level}
category = "questions"

[agent]
timeout_sec = 900.0

[environment]
cpus = 1
memory_mb = 512
workdir = "/app"

[passhat]
network = "public"

[[passhat.graders]]
kind = "exact"
file = "/app/answer.txt"
form = {form}
{extra}expected = {expected}
"""
QUESTION_DOCKERFILE = """ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}
WORKDIR /app
"""
