"""Files in a folder that somebody hostile may be writing to: no link is ever followed by the kernel.

Every step opens one name, without following links, relative to the folder before it, so that what is
swapped in between cannot lead outside. Links in a path are resolved here, inside the root.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable

from sandboxes.archive import Budget, entry_parts, folder_mode, is_system_link
from sandboxes.base import FileEntry, PathMissingError, SandboxError, TooLargeError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_LINKS = 40
MAX_DEPTH = 200
MISSING = (FileNotFoundError, NotADirectoryError)


def put(root: int, entries: Iterable[FileEntry], is_planted: Callable[[str], bool]) -> None:
    """Write entries below the folder `root`, parents first; whatever has the path is replaced.

    A link where a path says there is a folder is replaced by one, unless the distribution made it
    (/bin) or `is_planted` says that it came with the image: then it is followed inside the root.
    """
    ordered = sorted(((entry_parts(entry.path), entry) for entry in entries), key=lambda item: item[0])
    for parts, entry in ordered:
        with _Walk(root) as walk:
            if entry.data is None and entry.link is None:
                walk.make(parts, is_planted)
                os.fchown(walk.folder, entry.uid, entry.gid)
                os.fchmod(walk.folder, folder_mode(entry.mode))
            else:
                walk.make(parts[:-1], is_planted)
                _write(walk.folder, parts[-1], entry)


def get(root: int, path: str, max_bytes: int) -> list[FileEntry]:
    """Read a file or folder below `root`; links on the way to it are followed inside the root."""
    parts = entry_parts(path)
    found: list[FileEntry] = []
    with _Walk(root) as walk:
        try:
            walk.follow(parts[:-1])
            os.lstat(parts[-1], dir_fd=walk.folder)
        except MISSING:
            raise PathMissingError(f"{path} was asked for, and is not in the sandbox") from None
        _read(walk.folder, parts[-1], "/" + "/".join(parts), Budget(path, max_bytes), found)
    return found


class _Walk:
    """Goes down from a root by name and keeps the folders it came through, so that `..` is exact."""

    def __init__(self, root: int) -> None:
        self._names: list[str] = []
        self._folders = [os.dup(root)]
        self._links = 0

    def __enter__(self) -> "_Walk":
        return self

    def __exit__(self, *_: object) -> None:
        self._up_to(0)
        os.close(self._folders.pop())

    @property
    def folder(self) -> int:
        return self._folders[-1]

    def follow(self, parts: Iterable[str]) -> None:
        """Enter existing folders, through links inside the root."""
        todo = list(reversed(list(parts)))
        while todo:
            name = todo.pop()
            if self._step(name):
                continue
            target = _link_target(self.folder, name)
            if target is None:
                self._enter(name)
            else:
                self._turn(name, target, todo)

    def make(self, parts: Iterable[str], is_planted: Callable[[str], bool]) -> None:
        """Enter folders, make missing ones, and put folders in the place of what must not be there."""
        todo = list(reversed(list(parts)))
        while todo:
            name = todo.pop()
            if self._step(name):
                continue
            path = "/" + "/".join([*self._names, name])
            target = _link_target(self.folder, name)
            if target is not None and (is_system_link(path, target) or not is_planted(path)):
                self._turn(name, target, todo)
            else:
                self._make(name, path)

    def _step(self, name: str) -> bool:
        if name == "..":
            self._up_to(max(0, len(self._names) - 1))
        return name in ("", ".", "..")

    def _turn(self, name: str, target: str, todo: list[str]) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise PathMissingError(f"{name} is a link that leads in a circle: nothing can be found there")
        if target.startswith("/"):
            self._up_to(0)
        todo.extend(reversed(target.split("/")))

    def _enter(self, name: str) -> None:
        if len(self._names) >= MAX_DEPTH:
            raise TooLargeError(f"folders are nested deeper than {MAX_DEPTH}: ask for less")
        self._folders.append(os.open(name, FOLDER, dir_fd=self.folder))
        self._names.append(name)

    def _make(self, name: str, path: str) -> None:
        for _ in range(5):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                if not stat.S_ISDIR(os.lstat(name, dir_fd=self.folder).st_mode):
                    os.unlink(name, dir_fd=self.folder)
            made = False
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=self.folder)
                made = True
            with contextlib.suppress(*MISSING):
                self._enter(name)
                if made:
                    os.fchmod(self.folder, 0o755)
                return
        raise SandboxError(f"{path} is replaced again and again by what runs inside: kill it, then put files")

    def _up_to(self, depth: int) -> None:
        while len(self._names) > depth:
            self._names.pop()
            os.close(self._folders.pop())


def _link_target(folder: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None


def _write(folder: int, name: str, entry: FileEntry) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
    if entry.link is not None:
        os.symlink(entry.link, name, dir_fd=folder)
        os.chown(name, entry.uid, entry.gid, dir_fd=folder, follow_symlinks=False)
        return
    descriptor = os.open(name, WRITE, 0o600, dir_fd=folder)
    with open(descriptor, "wb", buffering=0) as file:
        left = memoryview(entry.data or b"")
        while len(left):
            left = left[file.write(left) :]
        os.fchown(descriptor, entry.uid, entry.gid)
        os.fchmod(descriptor, entry.mode)


def _read(folder: int, name: str, path: str, budget: Budget, found: list[FileEntry], depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise TooLargeError(f"{path} lies deeper than {MAX_DEPTH} folders: ask for less")
    try:
        status = os.lstat(name, dir_fd=folder)
        mode, uid, gid = stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
        if stat.S_ISLNK(status.st_mode):
            budget.take(0)
            target = os.readlink(name, dir_fd=folder)
            found.append(FileEntry(path, link=target, mode=mode, uid=uid, gid=gid))
        elif stat.S_ISREG(status.st_mode):
            budget.take(status.st_size)
            data = _read_file(folder, name, path, status.st_size)
            if data is not None:
                found.append(FileEntry(path, data, mode=mode, uid=uid, gid=gid))
        elif stat.S_ISDIR(status.st_mode):
            budget.take(0)
            found.append(FileEntry(path, mode=mode, uid=uid, gid=gid))
            _read_folder(folder, name, path, budget, found, depth)
    except MISSING:
        return


def _read_folder(folder: int, name: str, path: str, budget: Budget, found: list[FileEntry], depth: int) -> None:
    inner = os.open(name, FOLDER, dir_fd=folder)
    try:
        names: list[str] = []
        with os.scandir(inner) as listing:
            for item in listing:
                budget.check(len(names))
                names.append(item.name)
        for child in sorted(names):
            _read(inner, child, f"{path}/{child}", budget, found, depth + 1)
    finally:
        os.close(inner)


def _read_file(folder: int, name: str, path: str, size: int) -> bytes | None:
    """At most the size that was counted, whatever is written meanwhile; None for what is no file."""
    descriptor = os.open(name, READ, dir_fd=folder)
    with open(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        parts, left = [], size
        while left > 0 and (part := file.read(min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
