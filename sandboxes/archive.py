"""Entries and tar archives, with bounds: what may be written where, and how much may be read. Pure."""

import io
import posixpath
import tarfile
from collections.abc import Iterable, Mapping
from typing import IO

from sandboxes.base import FileEntry, TooLargeError

ENTRY_BYTES = 512
READ_BITS = 0o444
SYSTEM_LINKS: Mapping[str, tuple[str, ...]] = {
    **{f"/{name}": (f"usr/{name}", f"/usr/{name}") for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32")},
    "/var/run": ("/run", "../run"),
    "/var/lock": ("/run/lock", "../run/lock"),
}


class Budget:
    """Bytes that may still be read of a path; raises TooLargeError when they are used up."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self._path = path
        self._max = max_bytes
        self._left = max_bytes

    def take(self, size: int) -> None:
        """Count an entry of `size` bytes, before it is read."""
        self._left -= size + ENTRY_BYTES
        self.check(0, size)

    def check(self, entries: int, size: int = 0) -> None:
        """Raise when so many further entries would not fit."""
        if self._left < entries * ENTRY_BYTES:
            raise TooLargeError(
                f"{self._path} was asked for with at most {self._max} bytes, and holds more (an entry of"
                f" {size} bytes exceeds what is left): raise the limit, or ask for less"
            )


def entry_parts(path: str) -> tuple[str, ...]:
    """The names of an absolute path. Raises ValueError for a relative one, `..`, NUL or the root."""
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if not path.startswith("/") or ".." in parts or "\0" in path or not parts:
        raise ValueError(f"{path!r} is no absolute path below / without '..'")
    return parts


def folder_mode(mode: int) -> int:
    """A folder can be searched by whoever may read it: 0o644, the default of an entry, means 0o755."""
    return mode | (mode & READ_BITS) >> 2


def is_system_link(path: str, target: str) -> bool:
    """Whether a link is one that distributions make at the top: /bin -> usr/bin and its like."""
    return target.rstrip("/") in SYSTEM_LINKS.get(path, ())


def pack(entries: Iterable[FileEntry]) -> bytes:
    """A tar of entries, relative to the root, in the order given."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            info = tarfile.TarInfo("/".join(entry_parts(entry.path)))
            info.uid, info.gid = entry.uid, entry.gid
            if entry.link is not None:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
                archive.addfile(info)
            elif entry.data is None:
                info.type, info.mode = tarfile.DIRTYPE, folder_mode(entry.mode)
                archive.addfile(info)
            else:
                info.size, info.mode = len(entry.data), entry.mode
                archive.addfile(info, io.BytesIO(entry.data))
    return buffer.getvalue()


def unpack(stream: IO[bytes], path: str, max_bytes: int) -> list[FileEntry]:
    """Entries of a tar of `path`, as the engine sends it: names relative to the path's folder.

    Devices, fifos and sockets are left out, hard links hold the bytes of what they link to. Raises
    TooLargeError before a body that is too large is read.
    """
    parent = posixpath.dirname("/" + "/".join(entry_parts(path)))
    budget = Budget(path, max_bytes)
    found: dict[str, FileEntry] = {}
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for info in archive:
            budget.take(info.size if info.isreg() else 0)
            entry = _entry(archive, info, parent, found)
            if entry is not None:
                found[entry.path] = entry
    return list(found.values())


def _entry(
    archive: tarfile.TarFile, info: tarfile.TarInfo, parent: str, found: Mapping[str, FileEntry]
) -> FileEntry | None:
    name = posixpath.join(parent, info.name.strip("/"))
    if ".." in name.split("/"):
        return None
    if info.issym():
        return FileEntry(name, link=info.linkname, mode=0o777, uid=info.uid, gid=info.gid)
    if info.isdir():
        return FileEntry(name, mode=info.mode & 0o7777, uid=info.uid, gid=info.gid)
    if info.islnk():
        source = found.get(posixpath.join(parent, info.linkname.strip("/")))
        data = source.data if source is not None else None
        return None if data is None else FileEntry(name, data, mode=info.mode & 0o7777, uid=info.uid, gid=info.gid)
    if not info.isreg():
        return None
    body = archive.extractfile(info)
    data = body.read() if body is not None else b""
    return FileEntry(name, data, mode=info.mode & 0o7777, uid=info.uid, gid=info.gid)
