"""A sweep as a process of its own, and what the processes it started are. Ends only what carries its own mark."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandboxes.docker import DockerProvider

MARK = "PASSHAT_FAULTS_MARK"


@dataclass(slots=True)
class Bench:
    """One disturbed sweep: its file, results, mark, and the run that is going on, if any."""

    sweep: Path
    results: Path
    mark: str = field(default_factory=lambda: secrets.token_hex(12))
    run: subprocess.Popen[bytes] | None = None
    jump_s: float = 0.0
    environment: Mapping[str, str] = field(default_factory=dict)
    orphans: set[int] = field(default_factory=set)

    @property
    def log(self) -> Path:
        return self.sweep.with_suffix(".log")

    def start(self) -> None:
        env = {**os.environ, **self.environment, MARK: self.mark, "PASSHAT_FAULTS_JUMP_S": str(self.jump_s)}
        with open(self.log, "ab") as log:
            argv = [sys.executable, "-m", "tests.faults.child", str(self.sweep)]
            self.run = subprocess.Popen(argv, stdout=log, stderr=log, env=env, start_new_session=True)

    def running(self) -> bool:
        return self.run is not None and self.run.poll() is None

    def wait(self, timeout_s: float) -> int | None:
        """The exit code, or None when it did not end in time; then it is ended as kill -9 would."""
        assert self.run is not None
        try:
            return self.run.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill_driver()
            return None

    def kill_driver(self) -> None:
        assert self.run is not None
        if self.run.poll() is None:
            self.orphans |= children(self.run.pid)
            os.kill(self.run.pid, signal.SIGKILL)
        self.run.wait()

    def processes(self) -> dict[int, str]:
        """(pid, command line) of everything alive that carries the mark, but zombies."""
        found = {}
        needle = f"{MARK}={self.mark}".encode()
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if needle in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (
                        (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    )
            except OSError:
                continue
        return found

    def workers(self) -> list[int]:
        return [pid for pid, line in self.processes().items() if line.startswith("ray::WorkerActor")]

    def raylets(self) -> list[int]:
        return [pid for pid, line in self.processes().items() if "/raylet/raylet " in line]

    def sweep_ids(self) -> list[str]:
        folder = self.results / "sweeps"
        return [path.name for path in folder.iterdir()] if folder.is_dir() else []

    def containers(self, provider: DockerProvider, all_states: bool = False) -> list[str]:
        """Ids of this sweep's containers."""
        found = []
        for sweep_id in self.sweep_ids():
            label = {"label": f"passhat.sweep={sweep_id}"}
            found += [str(c["Id"]) for c in provider.engine.client.containers(all=all_states, filters=label)]
        return found

    def end_left_over(self, patience_s: float = 15.0) -> dict[int, str]:
        """Processes that outlive the run by more than `patience_s`; they are ended, so that the next kind is alone."""
        give_up = time.monotonic() + patience_s
        while (left := self.processes() | _alive(self.orphans)) and time.monotonic() < give_up:
            time.sleep(0.2)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return left


def children(pid: int) -> set[int]:
    """What a process has started, whatever mark it bears: the gateway keeps no environment."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found |= {int(word) for word in path.read_text().split()}
    return found


def _alive(pids: set[int]) -> dict[int, str]:
    """Those of our own interpreter that still run, and their command lines; ids may be in use again."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if line.startswith(sys.executable):
                found[pid] = line
    return found
