"""Ray's own autoscaler brings a node for a sweep that fits none, and takes it away when the sweep is over.

The nodes are made by Ray's fake provider: real raylets on this machine. The head has no engine, so the sweep starts
with no node at all.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from ray.autoscaler._private.fake_multi_node.node_provider import FAKE_HEAD_NODE_ID

from tests.builders import make_hello_task

pytestmark = [pytest.mark.docker, pytest.mark.ray]

CHECKOUT = Path(__file__).resolve().parents[2]
LONG_S = 150.0
SWEEP_FILE = """name = "growing"
suite = "suite"
repeats = 3
results = "rows"
agents = [{ name = "oracle", kind = "oracle" }]
resources = [{ name = "1x" }]
retry = { max = 0 }
"""
LOOK = """
from orchestrator.execution.ray_connection import connect
from orchestrator.execution.ray_nodes import engine_nodes, nodes
connect("{address}")
print(len(nodes()), len(engine_nodes()))
"""
NOTHING = (
    "setup_commands", "head_setup_commands", "worker_setup_commands", "initialization_commands", "rsync_exclude",
    "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_filter",
)  # fmt: skip


def cluster_config(address: str) -> dict[str, object]:
    """At most one node of two cores, gone when it has been idle for six seconds."""
    module = "tests.cluster.fake_nodes.FakeNodes"
    worker = {"CPU": 2, "docker": 100_000, "memory": 4_000_000_000, "object_store_memory": 100_000_000}
    return {
        "cluster_name": "fake",
        "max_workers": 1,
        "idle_timeout_minutes": 0.1,
        "upscaling_speed": 1.0,
        "provider": {
            "type": "external",
            "module": module,
            "head_node_id": FAKE_HEAD_NODE_ID,
            "launch_multiple": True,
            "gcs_address": address,
        },
        "head_node_type": "ray.head.default",
        "available_node_types": {
            "ray.head.default": {"resources": {"CPU": 1}, "node_config": {}, "max_workers": 0},
            "worker": {"resources": worker, "node_config": {}, "min_workers": 0, "max_workers": 1},
        },
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
        **{name: [] for name in NOTHING},
    }


@dataclass(frozen=True, slots=True)
class Grown:
    """A cluster and the environment of whoever joins it: Ray reads how to show its token once, when it is loaded."""

    address: str
    environment: dict[str, str]

    def python(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, *argv]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=LONG_S, check=False
        )

    def nodes(self) -> tuple[int, int] | None:
        """(all, with an engine); None while nobody answers."""
        words = self.python("-c", LOOK.format(address=self.address)).stdout.split()
        return (int(words[-2]), int(words[-1])) if len(words) >= 2 else None


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Grown]:
    """A head with an autoscaler and without an engine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(cluster_config(address)))
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32))
    guest = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    guest.pop("RAY_AUTH_TOKEN", None)
    host = {
        **guest,
        "PYTHONPATH": str(CHECKOUT),
        "RAY_FAKE_CLUSTER": "1",
        "RAY_enable_autoscaler_v2": "1",
        "RAY_CLOUD_INSTANCE_ID": FAKE_HEAD_NODE_ID,
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": FAKE_HEAD_NODE_ID,
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
    }
    start = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", "--disable-usage-stats"]
    start += [f"--port={port}", "--num-cpus=1", "--include-dashboard=false", f"--autoscaling-config={file}"]
    with (tmp_path / "head.log").open("wb") as log:
        head = subprocess.Popen(start, env=host, stdout=log, stderr=log)
        try:
            grown = Grown(address, guest)
            wait_until(lambda: grown.nodes() is not None)
            yield grown
        finally:
            head.terminate()
            head.wait(60)


def wait_until(holds: Callable[[], object]) -> None:
    until = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < until, "it never came to hold"
        time.sleep(0.5)


def test_a_sweep_that_fits_no_node_gets_one_and_lets_it_go(cluster: Grown, tmp_path: Path) -> None:
    assert cluster.nodes() == (1, 0)
    make_hello_task(tmp_path / "suite" / "large", cpus=2.0)
    (tmp_path / "sweep.toml").write_text(SWEEP_FILE)
    done = cluster.python("-m", "orchestrator.cli", "run", str(tmp_path / "sweep.toml"), "--address", cluster.address)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trials wait for a node that is not there yet: 2 cores were promised" in done.stdout + done.stderr
    rows = duckdb.sql(
        f"select repeat, attempt, status from read_parquet('{tmp_path}/rows/trials/**/*.parquet') order by all"
    ).fetchall()
    assert rows == [(repeat, 0, "PASSED") for repeat in range(3)]
    wait_until(lambda: cluster.nodes() == (1, 0))
