"""A key given to passhat is nowhere: not in a container or its labels, not in any file of the results, not in a report."""

import contextlib
import json
import threading
from pathlib import Path

import docker.errors
import pyarrow as pa
import pytest

from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, run_due
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider
from sandboxes.labels import OWNER, SWEEP
from tests.builders import make_task
from tests.end_to_end.command_line import passhat
from tests.faults.model import MODEL, paid_model
from tests.hostile.attack import Silent

pytestmark = pytest.mark.docker
PREFIX = "sk-ant-api0[3]-"
"""How a key begins, as a pattern that does not match itself."""
LOOK = (
    "echo sk-ant-api0''3-decoy > /tmp/decoy; env > /tmp/env; sleep 0.5;"
    f" grep -rlaE '{PREFIX}' /etc /root /home /tmp /opt /var /run /logs /proc/[0-9]*/environ /proc/[0-9]*/cmdline; true"
)
TASK = f"""[environment]
docker_image = "{BASE_REFERENCE}"
cpus = 1
memory_mb = 128
workdir = "/"
allow_internet = false
"""


class Looker(threading.Thread):
    """Reads all that the engine tells of a sweep's containers and networks while they are there."""

    def __init__(self, results: Path) -> None:
        super().__init__(daemon=True)
        self._results, self.done = results, threading.Event()
        self.seen: dict[str, bytes] = {}

    def run(self) -> None:
        with DockerProvider() as provider:
            client = provider.engine.client
            while not self.done.wait(0.05):
                for folder in (self._results / "sweeps").glob("*"):
                    wanted = {"label": f"{SWEEP}={folder.name}"}
                    for item in client.containers(all=True, filters=wanted):
                        with contextlib.suppress(docker.errors.APIError):
                            told = client.inspect_container(item["Id"])
                            self.seen[f"container {item['Id'][:12]}"] = json.dumps(told).encode()
                    for item in client.networks(filters=wanted):
                        self.seen[f"network {item['Name']}"] = json.dumps(item).encode()


def test_a_canary_key_is_nowhere_in_containers_results_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    make_task(tmp_path / "suite" / "one", TASK, {"instruction.md": "Do it.\n"})
    results = tmp_path / "results"
    with paid_model() as paid:
        monkeypatch.setenv("ANTHROPIC_API_KEY", paid.key)
        (tmp_path / "sweep.toml").write_text(_sweep(tmp_path, paid.url))
        looker = Looker(results)
        looker.start()
        try:
            code = run_due(Request(sweep=tmp_path / "sweep.toml", place=PlaceOptions(inline=True)), Silent)
        finally:
            looker.done.set()
            looker.join()
        assert code == 0
        assert paid.asked > 0
        assert {headers["x-api-key"] for headers, _ in paid.model.requests} == {paid.key}
        places = {**looker.seen, "output": "".join(capfd.readouterr()).encode()}
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        assert passhat("report", results, "--no-static", "--output", tmp_path / "report.html").returncode == 0
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            with pa.input_stream(str(path), compression="zstd" if path.suffix == ".zst" else None) as stream:
                places[str(path.relative_to(tmp_path))] = stream.read()
    places["rows"] = json.dumps([table.to_pylist() for table in scan(Root(str(results)))], default=str).encode()
    assert [name for name, data in places.items() if paid.key.encode() in data] == []
    _all_was_looked_at(places)


def _all_was_looked_at(places: dict[str, bytes]) -> None:
    """The places are there and full; the agent that searched its container found what it had planted, and no more."""
    for part in ("container ", "network ", ".parquet", "plan.json", "log.jsonl", ".zst", "report.html"):
        assert any(part in name for name in places), part
    containers = [json.loads(data) for name, data in places.items() if name.startswith("container ")]
    assert all(OWNER in told["Config"]["Labels"] for told in containers)
    assert {told["HostConfig"]["LogConfig"]["Type"] for told in containers} == {"none"}, "the engine keeps no log"
    transcripts = [data for name, data in places.items() if name.endswith(".jsonl.zst")]
    found = {line for data in transcripts for line in _printed(data)}
    assert "/tmp/decoy" in found
    assert {path for path in found if path.startswith(("/proc", "/etc", "/tmp", "/root"))} == {"/tmp/decoy"}


def _printed(transcript: bytes) -> list[str]:
    return transcript.decode(errors="replace").replace("\\n", "\n").replace('"', "\n").splitlines()


def _sweep(folder: Path, url: str) -> str:
    return f"""name = "canary"
suite = "{folder / "suite"}"
results = "{folder / "results"}"
[[agents]]
name = "asks"
kind = "claude"
model = "{MODEL}"
[[agents]]
name = "looks"
kind = "command"
needs_model = true
argv = ["/bin/bash", "-c", {json.dumps(LOOK)}]
[model]
upstream = "{url}"
record = true
"""
