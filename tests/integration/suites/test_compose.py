"""Compose tasks on the real engine: services beside the agent, their network, what is recorded, what is left."""

import json
import socket
from pathlib import Path

import docker
import pytest

from sandboxes.bootstrap import BASE_REFERENCE
from tests.builders import make_task
from tests.integration.suites.attempts import NOP, ORACLE, outcomes, rows

pytestmark = pytest.mark.docker
TOML = f'artifacts = [{{source="/kept/said", service="db"}}]\n[environment]\ndocker_image = "{BASE_REFERENCE}"\nmemory_mb = 128\n'
NONE = TOML + 'network_mode = "no-network"\n'
DB = f"""services:
  main:
    command: ["sleep", "infinity"]
    environment: {{WHERE: "http://store:8000"}}
    depends_on: {{db: {{condition: service_healthy}}, seed: {{condition: service_completed_successfully}}}}
  seed:
    image: {BASE_REFERENCE}
    command: ["sh", "-c", "echo seeded"]
    mem_limit: 64m
  db:
    image: {BASE_REFERENCE}
    hostname: store
    user: "1000:1000"
    working_dir: /tmp
    tmpfs: /kept
    environment: [WORD=hello]
    command: sh -c 'mkdir -p data; cd data; echo $$WORD > word; echo $$WORD > /kept/said; exec python3 -m http.server 8000'
    healthcheck: {{test: ["CMD", "python3", "-c", "import urllib.request as u; u.urlopen('http://localhost:8000')"], interval: 1s, retries: 10}}
    deploy: {{resources: {{limits: {{cpus: "0.25", memory: 96M}}}}}}
"""
SOLVE = "#!/bin/bash\npython3 -c \"import os,urllib.request as u; print(u.urlopen(os.environ['WHERE'] + '/word').read().decode())\" > /answer\n"
TEST = "#!/bin/bash\nif grep -q hello /answer; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


def compose_task(folder: Path, compose: str, toml: str = NONE, solve: str = SOLVE) -> Path:
    files = {"environment/docker-compose.yaml": compose, "solution/solve.sh": solve, "tests/test.sh": TEST}
    return make_task(folder, toml, files)


def left_over() -> list[str]:
    """Containers and networks of attempts in this test's sweeps."""
    client = docker.from_env()
    try:
        found = client.api.containers(all=True, filters={"label": "passhat.sweep"})
        return [c["Id"] for c in found if c["Labels"]["passhat.sweep"].startswith("attempts-")]
    finally:
        client.close()


def test_the_oracle_passes_with_what_a_service_tells_and_nothing_is_left(tmp_path: Path) -> None:
    compose_task(tmp_path / "suite" / "asks", DB)
    compose_task(tmp_path / "suite" / "public", DB, TOML)
    made = outcomes(tmp_path / "suite", tmp_path / "results", resources={"headroom": 2.0})
    found = rows(made)
    assert {key: row["status"] for key, row in found.items()} == {
        ("asks", "oracle"): "PASSED",
        ("asks", "nop"): "FAILED",
        ("public", "oracle"): "PASSED",
        ("public", "nop"): "FAILED",
    }, [row["failure_message"] for row in found.values()]
    row = found["asks", "oracle"]
    assert row["effective_network"].startswith("passhat-pool-")
    assert row["requested_sidecar_cpus"] == 0.75
    assert row["requested_sidecar_memory_bytes"] == (96 + 64) << 20
    assert [text.partition("=")[0] for text in row["sidecar_images"]] == ["db", "seed"]
    assert row["used_sidecar_memory_peak_bytes"]["db"] > 1e6
    assert row["sidecars_s"] > 0
    assert made["asks", "oracle"].artifacts is not None
    assert not [flag for flag in row["flags"] if flag.startswith("artifact")]
    assert left_over() == []


ENDS = "services:\n  main: {}\n  db:\n    image: " + BASE_REFERENCE + "\n    command: ['sh', '-c', '%s']\n"
SICK = (
    ENDS % "echo no disk today; sleep 60"
    + "    healthcheck: {test: 'false', interval: 100ms, timeout: 100ms, retries: 3}\n"
)


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        (ENDS % "sleep 0.5; echo no disk today; exit 3", "service db ended with 3"),
        (SICK, "service db did not become healthy within"),
    ],
)
def test_a_service_that_fails_is_infrastructure_and_its_log_is_kept(tmp_path: Path, compose: str, words: str) -> None:
    compose_task(
        tmp_path / "suite" / "fails", compose, TOML.partition("\n")[2], "#!/bin/bash\nsleep 1; echo hello > /answer\n"
    )
    (row,) = rows(outcomes(tmp_path / "suite", tmp_path / "results", (ORACLE,))).values()
    assert (row["status"], row["origin"], row["failure_kind"]) == ("SANDBOX_ERROR", "infrastructure", "sidecar")
    assert words in row["failure_message"]
    assert "no disk today" in row["failure_message"]
    assert left_over() == []


def test_without_a_network_a_service_is_reached_and_not_the_host(tmp_path: Path) -> None:
    probe = """#!/bin/bash
gateway=$(python3 -c "import socket; w = open('/proc/net/route').read().split(chr(10))[1].split(); print(socket.inet_ntoa(bytes.fromhex(w[2])[::-1]))")
timeout 1 bash -c "echo > /dev/tcp/$gateway/PORT" 2>/dev/null && exit
timeout 1 bash -c "echo > /dev/tcp/db/8000" || exit
echo hello > /answer
"""
    check = "python3 -c 'import urllib.request as u; u.urlopen(\"http://localhost:8000\")'"
    compose = (
        ENDS % "exec python3 -m http.server 8000" + f"    healthcheck: {{test: {json.dumps(check)}, retries: 2}}\n"
    )
    with socket.create_server(("0.0.0.0", 0)) as listening:
        probe = probe.replace("PORT", str(listening.getsockname()[1]))
        compose_task(tmp_path / "suite" / "alone", compose, NONE.partition("\n")[2], probe)
        found = rows(outcomes(tmp_path / "suite", tmp_path / "results", (ORACLE, NOP)))
    assert [found["alone", agent]["status"] for agent in ("oracle", "nop")] == ["PASSED", "FAILED"], found
