"""Files of a task folder on this host: which count, that none leads out, and as entries for a sandbox.

`.harborignore` (gitignore syntax) works inside tests/ and solution/: in either folder itself, or beside
them in the task's root. The ignore file itself is never copied.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pathspec import GitIgnoreSpec

from sandboxes.base import FileEntry
from suites.errors import TaskError

IGNORE_FILE = ".harborignore"
MAX_TASK_BYTES = 2_000_000_000


def check_links(folder: Path) -> None:
    """Refuse links that lead out of the folder, and anything that is no file, folder or link."""
    root = folder.resolve()
    for path in sorted(walk(folder)):
        mode = path.lstat().st_mode
        shown = path.relative_to(folder)
        if stat.S_ISLNK(mode):
            target = path.resolve()
            if target != root and root not in target.parents:
                raise TaskError(
                    f"{folder}: {str(shown)!r} is a link to {os.readlink(path)!r}, which leads out of the "
                    "task: put the file itself there"
                )
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise TaskError(f"{folder}: {str(shown)!r} is neither a file, a folder nor a link: remove it")


def walk(folder: Path) -> Iterator[Path]:
    """Everything below a folder, links not followed."""
    for path, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            yield Path(path, name)


def ignored(folder: Path, task_folder: Path) -> GitIgnoreSpec:
    """What .harborignore leaves out of `folder` (tests/ or solution/), as patterns relative to it."""
    lines: list[str] = []
    for place in (task_folder, folder):
        file = place / IGNORE_FILE
        if file.is_file():
            lines += file.read_text(encoding="utf-8").splitlines()
        if place == folder:
            break
    return GitIgnoreSpec.from_lines(lines)


def listed(folder: Path, task_folder: Path) -> list[Path]:
    """Files and links below `folder` that are not ignored, sorted by their path."""
    spec = ignored(folder, task_folder)
    found = []
    for path in walk(folder):
        if path.is_dir() and not path.is_symlink():
            continue
        relative = path.relative_to(folder).as_posix()
        if path.name != IGNORE_FILE and not spec.match_file(relative):
            found.append(path)
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def entries_below(folder: Path, target: str, task_folder: Path) -> list[FileEntry]:
    """The folder's files as entries below `target`, owned by root, links kept as links.

    `target` itself comes first as an empty file and then as a folder: so the engine, which needs no
    program of the container for it, removes whatever was there before, and the folder is a new one.
    """
    entries = fresh_folder(target)
    seen: set[str] = set()
    for path in listed(folder, task_folder):
        relative = path.relative_to(folder)
        for parent in reversed(relative.parents[:-1]):
            if parent.as_posix() not in seen:
                seen.add(parent.as_posix())
                entries.append(FileEntry(f"{target}/{parent.as_posix()}", mode=0o755))
        entries.append(_entry(path, f"{target}/{relative.as_posix()}"))
    return entries


def fresh_folder(target: str, mode: int = 0o755) -> list[FileEntry]:
    """Entries that leave an empty folder at `target`, whatever was there (a folder, a link, a fifo).

    Unpacking a file where a folder or link stands removes that first; a folder in the place of a file
    likewise. tests/integration/suites holds the engine to it.
    """
    return [FileEntry(target, data=b""), FileEntry(target, mode=mode)]


def _entry(path: Path, target: str) -> FileEntry:
    if path.is_symlink():
        return FileEntry(target, link=os.readlink(path), mode=0o777)
    mode = 0o755 if path.stat().st_mode & 0o111 else 0o644
    return FileEntry(target, data=path.read_bytes(), mode=mode)
