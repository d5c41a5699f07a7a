"""Network mode allowlist on the real engine: what is named is reached, all else is refused, and both are told."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider
from tests.builders import make_task
from tests.integration.suites.attempts import NOP, ORACLE, outcomes, rows

pytestmark = pytest.mark.docker


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing to print."""


@pytest.fixture
def server() -> Iterator[str]:
    """host:port of a server on the engine's bridge, which stands for the world."""
    with DockerProvider() as provider:
        subnet = provider.engine.client.inspect_network("bridge")["IPAM"]["Config"][0]["Subnet"]
    host = subnet.partition("/")[0].rpartition(".")[0] + ".1"
    with HTTPServer((host, 0), Hello) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"{host}:{listening.server_port}"
        listening.shutdown()


SOLVE = """#!/bin/bash
ask() { python3 -c "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=4).read().decode())" "$1"; }
ask http://SERVER/word > /answer || exit
for url in http://192.0.2.77/ http://forbidden.test/ https://OTHER/; do ask "$url" > /got 2>/dev/null && rm /answer; done
timeout 2 bash -c 'echo > /dev/tcp/HOST/PORT' 2>/dev/null && rm /answer
getent hosts elsewhere.test && rm /answer
getent hosts listed.test | grep -q . || rm /answer
true
"""
TEST = "#!/bin/bash\nif grep -q 'hello /word' /answer; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


def test_named_hosts_are_reached_and_all_tries_are_on_the_row(tmp_path: Path, server: str) -> None:
    host, _, port = server.partition(":")
    toml = (
        f'[environment]\ndocker_image = "{BASE_REFERENCE}"\nmemory_mb = 128\nnetwork_mode = "allowlist"\n'
        f'allowed_hosts = ["{server}", "listed.test"]\n'
    )
    with socket.create_server((host, 0)) as other:
        solve = SOLVE.replace("SERVER", server).replace("OTHER", f"{host}:{other.getsockname()[1]}")
        solve = solve.replace("HOST/PORT", f"{host}/{port}")
        files = {"solution/solve.sh": solve, "tests/test.sh": TEST}
        make_task(tmp_path / "suite" / "asks", toml, files)
        found = rows(outcomes(tmp_path / "suite", tmp_path / "results", (ORACLE, NOP)))
        refused = f"{host}:{other.getsockname()[1]}"
    row = found["asks", "oracle"]
    assert [found["asks", agent]["status"] for agent in ("oracle", "nop")] == ["PASSED", "FAILED"], found
    assert row["network_allowed"] == [server]
    assert {line.partition(" ")[0] for line in row["network_refused"]} >= {
        "192.0.2.77:80",
        "forbidden.test:80",
        refused,
        "elsewhere.test",
    }, row
    assert (found["asks", "nop"]["network_allowed"], found["asks", "nop"]["network_refused"]) == ([], [])


def test_a_separate_grader_has_hosts_and_resources_of_its_own(tmp_path: Path, server: str) -> None:
    toml = (
        f'artifacts = ["/answer"]\n[environment]\ndocker_image = "{BASE_REFERENCE}"\nmemory_mb = 128\n'
        'network_mode = "no-network"\n[verifier.environment]\ncpus = 0.5\nmemory_mb = 200\n'
        f'network_mode = "allowlist"\nallowed_hosts = ["{server}"]\n'
    )
    test = f"""#!/bin/bash
word=$(python3 -c "import urllib.request as u; print(u.urlopen('http://{server}/x', timeout=4).read().decode())")
limit=$(cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max)
echo 0 > /logs/verifier/reward.txt
[ "$word" = "$(cat /answer)" ] && [ "$limit" = $((200 << 20)) ] && [ "$ONLY" = grader ] && echo 1 > /logs/verifier/reward.txt
"""
    docker = f"FROM {BASE_REFERENCE}\nENV ONLY=grader\n"
    files = {
        "tests/test.sh": test,
        "tests/Dockerfile": docker,
        "solution/solve.sh": "#!/bin/bash\necho hello /x > /answer\n",
    }
    make_task(tmp_path / "suite" / "apart", toml, files)
    found = rows(outcomes(tmp_path / "suite", tmp_path / "results", (ORACLE, NOP)))
    assert [found["apart", agent]["status"] for agent in ("oracle", "nop")] == ["PASSED", "FAILED"], found
    assert (found["apart", "oracle"]["network_allowed"], found["apart", "oracle"]["grading_mode"]) == (
        [server],
        "separate",
    )
