"""A results root: a local folder or a `pyarrow.fs` URI, with atomic writes either way.

On a local disk a file is written aside, synced and renamed; on an object store a single PUT takes the
rename's place. Names are deterministic, so writing twice writes the same thing. What must be appended and
locked (journals) lives in `local_folder`, beside the results on a local root and under the user's state
folder for a remote one.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pafs

from orchestrator.storage.journal import sync_folder


class Root:
    """Where results live. Raises ValueError with a sentence for a root that cannot be used."""

    def __init__(self, location: str | Path, state_folder: Path | None = None) -> None:
        self.location = str(location)
        self.is_local = "://" not in self.location
        if self.is_local:
            self._fs: pafs.FileSystem = pafs.LocalFileSystem()
            self._base = str(Path(self.location).resolve())
        else:
            try:
                self._fs, self._base = pafs.FileSystem.from_uri(self.location)
            except (ValueError, OSError) as error:
                raise ValueError(
                    f"{self.location} is not a results root: {error}; use a folder or s3://bucket/path"
                ) from None
        self._state = state_folder

    @property
    def filesystem(self) -> pafs.FileSystem:
        return self._fs

    def path(self, relative: str) -> str:
        """The file system's own path of a name below the root."""
        return f"{self._base}/{relative}" if relative else self._base

    def local_folder(self, relative: str) -> Path:
        """A folder on this machine's disk for journals and locks of this root."""
        if self.is_local:
            return Path(self._base) / relative
        state = self._state or Path(os.path.expanduser("~")) / ".local" / "state" / "passhat"
        return state / hashlib.sha256(self.location.encode()).hexdigest()[:16] / relative

    def write(self, relative: str, data: bytes, durable: bool = True) -> None:
        """Write a whole file, its bytes as they are whatever its name ends with; readers see the old one or the new one, never a part."""
        if not self.is_local:
            with self._fs.open_output_stream(self.path(relative), compression=None) as stream:
                stream.write(data)
            return
        target = Path(self.path(relative))
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with open(aside, "wb") as stream:
                stream.write(data)
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            os.replace(aside, target)
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        if durable:
            sync_folder(target.parent)

    def read(self, relative: str) -> bytes:
        """A whole file. Raises FileNotFoundError."""
        with self._fs.open_input_stream(self.path(relative), compression=None) as stream:
            return bytes(stream.read())

    def exists(self, relative: str) -> bool:
        return bool(self._fs.get_file_info(self.path(relative)).type != pafs.FileType.NotFound)

    def remove(self, relative: str) -> None:
        if self.exists(relative):
            self._fs.delete_file(self.path(relative))

    def list_files(self, relative: str, suffix: str = "") -> Iterator[tuple[str, int]]:
        """(name below the root, size in bytes) of all files under a folder, sorted by name."""
        selector = pafs.FileSelector(self.path(relative), recursive=True, allow_not_found=True)
        found = [
            (info.path[len(self._base) + 1 :], int(info.size))
            for info in self._fs.get_file_info(selector)
            if info.type == pafs.FileType.File and info.path.endswith(suffix) and not _is_hidden(info.path)
        ]
        yield from sorted(found)


def _is_hidden(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith((".", "_"))
