"""File locks on one host, for several users: held by a process, freed by the kernel when it dies.

The folder is world-writable and sticky, the files can be opened by everybody and hold who has them, for
people to read; only the lock itself means anything.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from sandboxes.base import SandboxError

DEFAULT_LOCK_FOLDER = Path("/var/tmp/passhat-locks")
"""Not under /tmp, which hosts clean after days, and not /dev/shm, which is emptied when a user logs out."""


class FileLock:
    """An exclusive lock on one file. Not inherited by programs that are started while it is held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1

    @property
    def held(self) -> bool:
        return self._descriptor >= 0

    def try_take(self, note: str = "") -> bool:
        """Take the lock if it is free; `note` says for people who holds it."""
        if self.held:
            return False
        descriptor = open_shared(self.path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_at(descriptor, self.path):
                os.close(descriptor)
                return False
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, note.encode(), 0)
        return True

    def release(self) -> None:
        if self.held:
            os.close(self._descriptor)
            self._descriptor = -1


@contextlib.contextmanager
def waiting_lock(path: Path, timeout_s: float, asked: str) -> Iterator[None]:
    """Hold a lock for the block, waiting until it is free. Raises SandboxError after `timeout_s`."""
    lock = FileLock(path)
    give_up, pause = time.monotonic() + timeout_s, 0.002
    while not lock.try_take(f"{os.getpid()}\n"):
        if time.monotonic() > give_up:
            raise SandboxError(
                f"{asked}: another process has held {path} for {timeout_s:.0f} s (its pid stands in the"
                " file): wait for it, or end it"
            )
        time.sleep(pause)
        pause = min(pause * 2, 0.1)
    try:
        yield
    finally:
        lock.release()


def make_folder(folder: Path) -> None:
    """A folder that every user of the host may make files in. Raises SandboxError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):
            folder.chmod(0o1777)
    except OSError as error:
        raise SandboxError(
            f"lock folder {folder} was asked for and cannot be made ({error.strerror}): make it, mode 1777"
        ) from error


def open_shared(path: Path) -> int:
    """A descriptor of a file that every user may read and write, made with its folder where there is none.

    Without O_CREAT first: the kernel forbids it on another user's file in a sticky folder. Raises SandboxError.
    """
    for _ in range(3):
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
        except FileNotFoundError:
            make_folder(path.parent)
            continue
        os.fchmod(descriptor, 0o666)
        return descriptor
    raise SandboxError(f"lock file {path} comes and goes: see what removes files in {path.parent}")


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the file that was locked is still the one with that name."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    return False
