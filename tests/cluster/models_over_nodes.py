"""Agents that ask a model from two nodes through one gateway, which goes on when the controller is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
import ray

from orchestrator.execution.ray_connection import connect
from orchestrator.execution.ray_controller import ask_snapshot, find_controller
from orchestrator.execution.ray_nodes import engine_nodes
from orchestrator.execution.ray_workers import actor_names
from orchestrator.models.script import Case, Script, Turn
from orchestrator.models.script_server import ScriptedModel, serve_script
from sandboxes.docker import DockerProvider
from sandboxes.labels import SWEEP
from tests.builders import make_hello_task

pytestmark = [pytest.mark.docker, pytest.mark.ray]

KEY = "sk-ant-canary-of-two-nodes-0123456789"
ANSWER_S = 8.0
LONG_S = 150.0
TOOL = """
import json, os, sys, urllib.request
body = {"model": "scripted", "max_tokens": 9, "messages": [{"role": "user", "content": open(sys.argv[1]).read()}]}
headers = {"x-api-key": os.environ["TOKEN"], "content-type": "application/json"}
request = urllib.request.Request(os.environ["URL"] + "/v1/messages", json.dumps(body).encode(), headers)
answer = json.load(urllib.request.urlopen(request, timeout=60))
open("/tmp/answer.txt", "w").write(answer["content"][0]["text"])
"""
SWEEP_FILE = """name = "asking"
suite = "suite"
repeats = 4
results = "rows"
resources = [{{ name = "1x" }}]
retry = {{ max = 0 }}
[[agents]]
name = "tool"
kind = "command"
argv = ["python3", "-c", '''{tool}''', "{{instruction_file}}"]
env = {{ URL = "{{base_url}}", TOKEN = "{{token}}" }}
needs_model = true
[model]
upstream = "{upstream}"
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of two nodes with one core each, both on this machine; the key is in their environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", KEY)
        connect(None, cpus=1)
        address = ray.get_runtime_context().gcs_address
        start = [str(Path(sys.executable).parent / "ray"), "start", "--block", "--disable-usage-stats"]
        start += ["--address", address, "--num-cpus", "1", "--resources", '{"docker": 100000}']
        second = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: len(engine_nodes()) == 2)
            yield address
        finally:
            second.terminate()
            second.wait(30)
            ray.shutdown()


@pytest.fixture
def model() -> Iterator[tuple[ScriptedModel, str]]:
    turn = Turn(text="hello", delay_s=ANSWER_S, usage={"input_tokens": 100, "output_tokens": 5})
    case = Case(match="Do it.", solve=(turn,))
    played = ScriptedModel(Script(cases=(case,)), api_key=KEY, keep=True)
    with serve_script(played) as server:
        yield played, server.url


def wait_until(holds: Callable[[], object]) -> None:
    until = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < until, "it never came to hold"
        time.sleep(0.2)


def passhat(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestrator.cli", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False)


def networks(sweep_id: str) -> list[dict[str, object]]:
    with DockerProvider.from_environment(os.environ) as provider:
        return list(provider.engine.client.networks(filters={"label": f"{SWEEP}={sweep_id}"}))


def write_sweep(folder: Path, upstream: str) -> Path:
    make_hello_task(folder / "suite" / "ask")
    (folder / "sweep.toml").write_text(SWEEP_FILE.format(tool=TOOL, upstream=upstream))
    return folder / "sweep.toml"


def rows(folder: Path, columns: str) -> list[tuple[object, ...]]:
    files = f"{folder}/rows/trials/**/*.parquet"
    return duckdb.sql(f"select {columns} from read_parquet('{files}') order by repeat, attempt").fetchall()


def test_two_nodes_ask_one_gateway_and_no_request_is_lost_with_a_controller(
    address: str, model: tuple[ScriptedModel, str], tmp_path: Path
) -> None:
    played, upstream = model
    done = passhat("submit", str(write_sweep(tmp_path, upstream)), "--address", address)
    assert done.returncode == 0, done.stdout + done.stderr
    sweep_id, _ = find_controller("asking")
    wait_until(lambda: len(played.requests) == 2)  # one core a node: both nodes have one under way
    assert len(networks(sweep_id)) == 2
    snapshot = ask_snapshot(sweep_id)
    assert snapshot is not None
    os.kill(snapshot.process, signal.SIGKILL)
    attached = passhat("attach", "asking", "--address", address)
    assert attached.returncode == 0, attached.stdout + attached.stderr
    found = rows(tmp_path, "repeat, attempt, status, tokens_in, tokens_out")
    assert found == [(repeat, 0, "PASSED", 100, 5) for repeat in range(4)]
    assert len(played.requests) == 4
    assert networks(sweep_id) == []
    assert actor_names("passhat-door/") == actor_names("passhat-gateway/") == []


def test_a_run_from_a_terminal_serves_both_nodes_too(
    address: str, model: tuple[ScriptedModel, str], tmp_path: Path
) -> None:
    played, upstream = model
    done = passhat("run", str(write_sweep(tmp_path, upstream)), "--address", address, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(tmp_path, "status, tokens_out") == [("PASSED", 5)] * 4
    assert len(played.requests) == 4
    assert actor_names("passhat-door/") == []


def test_a_cluster_joined_from_outside_is_told_to_be_submitted_to(
    model: tuple[ScriptedModel, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    done = passhat("run", str(write_sweep(tmp_path, model[1])), "--address", "ray://127.0.0.1:1")
    assert done.returncode == 2
    assert "need a gateway inside the cluster" in done.stderr
    assert "passhat submit" in done.stderr
