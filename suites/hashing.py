"""Content digests: of a task, from what can change its result, and of a suite, from its tasks."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from suites.files import listed, walk

PARTS = ("task.toml", "instruction.md", "README.md")
FOLDERS = ("environment", "tests", "solution", "steps")
LEGACY_PARTS = (
    "task.yaml",
    "Dockerfile",
    "docker-compose.yaml",
    "solution.sh",
    "solution.yaml",
    "run-tests.sh",
)


def task_digest(folder: Path) -> str:
    """sha256 over lines `relpath NUL sha256(file) LF`, sorted by path; ignored files are left out.

    A link counts by its target's name, not its content, so that it cannot stand for another file.
    """
    digest = hashlib.sha256()
    for relative, path in sorted(counted_files(folder)):
        digest.update(f"{relative}\0{_file_digest(path)}\n".encode())
    return digest.hexdigest()


def suite_digest(tasks: Iterable[tuple[str, str]]) -> str:
    """sha256 over lines `name NUL digest LF` of (task name, task digest), sorted by name."""
    digest = hashlib.sha256()
    for name, task in sorted(tasks):
        digest.update(f"{name}\0{task}\n".encode())
    return digest.hexdigest()


def counted_files(folder: Path) -> list[tuple[str, Path]]:
    """(path relative to the task, file) of everything that the task's digest covers."""
    legacy = (folder / "task.yaml").is_file() and not (folder / "task.toml").is_file()
    names = LEGACY_PARTS if legacy else PARTS
    found = [(name, folder / name) for name in names if (folder / name).is_file()]
    for name in FOLDERS:
        place = folder / name
        if not place.is_dir():
            continue
        ignorable = name in ("tests", "solution")
        paths = listed(place, folder) if ignorable else [p for p in walk(place) if p.is_symlink() or p.is_file()]
        found += [(path.relative_to(folder).as_posix(), path) for path in paths]
    return found


def _file_digest(path: Path) -> str:
    if path.is_symlink():
        return hashlib.sha256(b"link:" + os.readlink(path).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()
