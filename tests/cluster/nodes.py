"""The test cluster: three real Ray nodes as containers of this checkout, and what can be done to them.

One cluster for each checkout: its containers, network and folder (build/cluster) carry a name made from the
checkout's path, so that several checkouts on one machine do not meet. What it does to nodes it does through the
engine, as the machine room would: kill, cut the cable, plug it in again.
"""

import contextlib
import hashlib
import os
import secrets
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import docker

from sandboxes.bootstrap import BASE_REFERENCE

CHECKOUT = Path(__file__).resolve().parents[2]
NODES = ("head", "worker-1", "worker-2")
UP_TIMEOUT_S = 240


class ClusterError(RuntimeError):
    """The test cluster could not be made; the message has the last lines of what compose said."""


class TestCluster:
    """`folder`: where token, results and cache are; `cpus`, `memory_mb`: what each node admits.

    `environment`: what the nodes get besides, of the variables that the compose files name.
    """

    __test__ = False

    def __init__(
        self,
        checkout: Path = CHECKOUT,
        cpus: int = 1,
        memory_mb: int = 4096,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.checkout, self.cpus, self.memory_mb = checkout, cpus, memory_mb
        self.environment = dict(environment or {})
        self.name = "passhat-" + hashlib.sha256(str(checkout).encode()).hexdigest()[:8]
        self.folder = checkout / "build" / "cluster"
        self.results = self.folder / "results"
        self.token = self.folder / "ray-token"

    def up(self) -> None:
        """Start the nodes that do not run, and return when Ray answers on all. Raises ClusterError."""
        for folder in (self.results, self.folder / "cache"):
            folder.mkdir(parents=True, exist_ok=True)
        if not self.token.exists():
            write_token(self.token)
        self._compose("up", "--detach", "--wait", "--wait-timeout", str(UP_TIMEOUT_S))

    def down(self) -> None:
        """Remove the nodes, their network and the token; the results stay."""
        self._compose("down", "--volumes", "--timeout", "2")
        self.token.unlink(missing_ok=True)

    def __enter__(self) -> "TestCluster":
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def command(self, node: str, argv: Sequence[str], workdir: str | None = None) -> list[str]:
        """The command line, for this machine, that runs argv in a node."""
        place = ["--workdir", workdir] if workdir else []
        return [*self._compose_command(), "exec", "--no-TTY", *place, node, *argv]

    def run(self, node: str, argv: Sequence[str], timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
        """Run argv in a node to its end; its output as text."""
        command = self.command(node, argv)
        return subprocess.run(
            command, env=self._environment(), capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def start(self, node: str, argv: Sequence[str], output: Path) -> "subprocess.Popen[bytes]":
        """Begin argv in a node and go on; what it prints goes to a file. The caller ends it."""
        with output.open("wb") as file:
            return subprocess.Popen(
                self.command(node, argv), env=self._environment(), stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )

    def kill(self, node: str) -> None:
        """As when the power fails: everything in the node dies at once; its trials' containers do not."""
        with self._engine() as client:
            client.containers.get(self.container(node)).kill()

    def revive(self, node: str) -> None:
        """Power is back: the node starts, with the disk it had, and joins again."""
        with self._engine() as client:
            client.containers.get(self.container(node)).start()

    def restart(self, node: str) -> None:
        """As for an update: Ray is told to end, then it starts again."""
        with self._engine() as client:
            client.containers.get(self.container(node)).restart(timeout=10)

    def cut_off(self, node: str) -> None:
        """Pull the cable: the node lives and hears nobody but itself, and no connection is closed. Needs root."""
        for chain, interface in (("INPUT", "-i"), ("OUTPUT", "-o")):
            self._in_network(node, "iptables", "-I", chain, "!", interface, "lo", "-j", "DROP")

    def plug_in(self, node: str) -> None:
        """Put the cable in again; the node has the address it had."""
        for chain, interface in (("INPUT", "-i"), ("OUTPUT", "-o")):
            self._in_network(node, "iptables", "-D", chain, "!", interface, "lo", "-j", "DROP")

    def running(self, node: str) -> bool:
        with self._engine() as client:
            return bool(client.containers.get(self.container(node)).status == "running")

    def outside(self) -> str:
        """The address under which the nodes reach this machine, and nobody else does."""
        with self._engine() as client:
            attrs = client.networks.get(f"{self.name}_ray").attrs
        return str(attrs["IPAM"]["Config"][0]["Gateway"])

    def container(self, node: str) -> str:
        """The name of a node's container."""
        return f"{self.name}-{node}-1"

    def _in_network(self, node: str, *argv: str) -> None:
        with self._engine() as client:
            pid = client.containers.get(self.container(node)).attrs["State"]["Pid"]
        subprocess.run(["nsenter", "--target", str(pid), "--net", *argv], check=True, capture_output=True, timeout=30)

    def _compose(self, *argv: str) -> None:
        result = subprocess.run(
            [*self._compose_command(), *argv],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=UP_TIMEOUT_S + 60,
            check=False,
        )
        if result.returncode:
            last = "\n".join(result.stderr.strip().splitlines()[-15:])
            raise ClusterError(f"docker-compose {argv[0]} ended with {result.returncode}:\n{last}")

    def _compose_command(self) -> list[str]:
        files = (self.checkout / "deploy" / "compose.yaml", self.checkout / "tests" / "cluster" / "checkout.yaml")
        chosen = [word for file in files for word in ("--file", str(file))]
        tool = Path(sysconfig.get_path("scripts"), "docker-compose")
        return [str(tool), "--progress", "quiet", "--project-name", self.name, *chosen]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **self.environment,
            "CHECKOUT": str(self.checkout),
            "PYTHON_HOME": sys.base_prefix,
            "PASSHAT_IMAGE": BASE_REFERENCE,
            "PASSHAT_NODE_CPUS": str(self.cpus),
            "PASSHAT_NODE_MEMORY_MB": str(self.memory_mb),
            "PASSHAT_RESULTS": str(self.results),
            "PASSHAT_CACHE": str(self.folder / "cache"),
            "PASSHAT_TOKEN": str(self.token),
        }

    @contextlib.contextmanager
    def _engine(self) -> Iterator[docker.DockerClient]:
        client = docker.from_env()
        try:
            yield client
        finally:
            client.close()


def write_token(path: Path) -> None:
    """A new token for Ray's authentication, readable by its owner alone and printed nowhere."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
