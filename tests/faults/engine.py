"""A second Docker engine of the harness's own, to be stopped and started; the machine's engine is never touched.

It runs in a network namespace of its own: a daemon without a bridge takes the bridge of the host's engine away.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider

UP_S = 60.0
DOWN_S = 60.0


class OwnEngine:
    """An engine under a folder. Needs root, dockerd and unshare."""

    def __init__(self, folder: Path, driver: str) -> None:
        self._folder = folder
        self._driver = driver
        self._daemon: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{folder}/docker.sock"
        (folder / "daemon.json").write_text("{}")

    def start(self) -> None:
        """Start the daemon, and wait until it answers. Raises RuntimeError with the end of its log."""
        for stale in ("docker.pid", "exec/containerd/containerd.pid"):
            (self._folder / stale).unlink(missing_ok=True)
        argv = ["unshare", "--net", "dockerd", "--host", self.url, "--data-root", str(self._folder / "data")]
        argv += ["--exec-root", str(self._folder / "exec"), "--pidfile", str(self._folder / "docker.pid")]
        argv += ["--config-file", str(self._folder / "daemon.json"), "--storage-driver", self._driver]
        argv += ["--bridge", "none", "--iptables=false", "--ip6tables=false"]
        with open(self._folder / "log", "ab") as log:
            self._daemon = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        give_up = time.monotonic() + UP_S
        while time.monotonic() < give_up and self._daemon.poll() is None:
            with contextlib.suppress(ConnectionError), DockerProvider(self.url) as provider:
                provider.ping()
                return
            time.sleep(0.1)
        tail = (self._folder / "log").read_text(errors="replace").splitlines()[-2:]
        raise RuntimeError(f"no engine could be started in {self._folder}: {tail}")

    def end(self, how: signal.Signals) -> None:
        """Send the daemon a signal, and wait until it is gone."""
        assert self._daemon is not None
        self._daemon.send_signal(how)
        self._daemon.wait(DOWN_S)

    def load_base(self) -> None:
        """The base image, from the machine's engine."""
        saved = subprocess.Popen(["docker", "save", BASE_REFERENCE], stdout=subprocess.PIPE)
        loaded = subprocess.run(["docker", "--host", self.url, "load"], stdin=saved.stdout, capture_output=True)
        if saved.wait() or loaded.returncode:
            raise RuntimeError(f"{BASE_REFERENCE} could not be loaded: {loaded.stderr.decode(errors='replace')}")

    def close(self) -> None:
        """End the daemon and what it started, and take away its mounts."""
        if self._daemon is not None and self._daemon.poll() is None:
            self.end(signal.SIGTERM)
        needle = str(self._folder).encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if needle in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                    os.kill(int(entry.name), signal.SIGKILL)
        for line in reversed(Path("/proc/mounts").read_text().splitlines()):
            target = line.split()[1]
            if target.startswith(f"{self._folder}/"):
                subprocess.run(["umount", "--lazy", target], check=False, capture_output=True)


@contextlib.contextmanager
def own_engine(machine: DockerProvider) -> Iterator[OwnEngine]:
    """An engine with the machine's storage driver and the base image, gone at the end. Raises RuntimeError."""
    folder = Path(tempfile.mkdtemp(prefix="passhat-engine-"))
    engine = OwnEngine(folder, str(machine.engine.client.info()["Driver"]))
    try:
        engine.start()
        engine.load_base()
        yield engine
    finally:
        engine.close()
        shutil.rmtree(folder, ignore_errors=True)
