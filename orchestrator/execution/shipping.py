"""A suite's way to nodes that do not share the driver's disk: packed once, unpacked once on each node.

The archive is named by its content, so that a node keeps a suite for the next sweep; what was not used for
two weeks is removed when something new comes. A task on a node is the task of the plan when its digest is.
"""

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import zstandard

from orchestrator.execution.assignment import Assignment, Outcome
from orchestrator.execution.worker import Serving
from suites.loading import load_suite
from suites.task import Task

UNUSED_S = 14 * 86_400.0
SKIPPED = frozenset({"__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache"})


class ShippingError(RuntimeError):
    """A suite did not arrive as it was sent."""


def pack(folder: Path) -> bytes:
    """A folder with its name, links as links; the same bytes for the same content. Raises OSError."""

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if SKIPPED & set(Path(member.name).parts):
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = 0
        return member

    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(folder.resolve(), arcname=folder.resolve().name, filter=kept)
    return zstandard.compress(raw.getvalue(), 6)


def cache_folder(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "passhat" / "suites"


def unpack(data: bytes, cache: Path, now: Callable[[], float] = time.time) -> Path:
    """The packed folder below `cache`, whoever unpacked it. Raises ShippingError, OSError."""
    place = cache / hashlib.sha256(data).hexdigest()[:32]
    if not place.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        _remove_unused(cache, now())
        aside = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=cache))
        try:
            with tarfile.open(fileobj=io.BytesIO(zstandard.decompress(data))) as archive:
                archive.extractall(aside, filter="tar")
            aside.chmod(0o755)
            aside.rename(place)
        except (tarfile.TarError, zstandard.ZstdError) as error:
            raise ShippingError(f"a packed suite cannot be unpacked ({error}); send it again") from None
        except OSError:
            if not place.is_dir():
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    os.utime(place, (now(), now()))
    return next(place.iterdir())


def _remove_unused(cache: Path, now_s: float) -> None:
    for entry in cache.iterdir():
        if now_s - entry.stat().st_mtime > UNUSED_S:
            shutil.rmtree(entry, ignore_errors=True)


class ShippedWorker:
    """A Worker whose tasks are read from this node's copy of the suite."""

    def __init__(self, worker: Serving, tasks: Mapping[str, Task], source: Path) -> None:
        self._worker, self._tasks, self._source = worker, tasks, source

    def run(self, assignment: Assignment) -> Outcome:
        """See Worker.run. Raises ShippingError where the copy is not the plan's."""
        here = self._tasks.get(assignment.task.name)
        if here is None or here.digest != assignment.task.digest:
            raise ShippingError(
                f"task {assignment.task.name} in {self._source} is not the one that was sent (digest"
                f" {here.digest[:12] if here else 'unknown'}, sent {assignment.task.digest[:12]}); remove that folder"
            )
        return self._worker.run(replace(assignment, task=here))


def with_shipped_suite(worker: Serving, data: bytes, environment: Mapping[str, str]) -> ShippedWorker:
    """Raises ShippingError, TaskError, OSError."""
    folder = unpack(data, cache_folder(environment))
    return ShippedWorker(worker, {task.name: task for task in load_suite(folder).tasks}, folder)
