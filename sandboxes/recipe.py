"""What an image is made of, as one digest that is the same on every host. Pure apart from reading files.

A recipe is the Dockerfile, its context, the build arguments and the identity of the bases. Builders give
a new id to the same content, so the digest of the recipe is the identity of what was built.
"""

import hashlib
import io
import json
import os
import re
import stat
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docker.utils.build import exclude_paths

FROM = re.compile(r"^\s*FROM\s+(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?\s*$", re.IGNORECASE)
ARG = re.compile(r"^\s*ARG\s+([A-Za-z_]\w*)(?:=(.*?))?\s*$", re.IGNORECASE)
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::-([^}]*))?\}|([A-Za-z_]\w*))")


@dataclass(frozen=True, slots=True)
class ContextFile:
    """One file of a build context: its bytes, or the target of a link; `data` and `link` None: a folder."""

    path: str
    mode: int
    data: bytes | None = None
    link: str | None = None

    @property
    def line(self) -> str:
        kind = "link" if self.link is not None else "folder" if self.data is None else "file"
        body = self.data if self.data is not None else (self.link or "").encode(errors="surrogateescape")
        name = self.path.encode(errors="surrogateescape").hex()
        return f"{kind} {name} {self.mode:o} {hashlib.sha256(body).hexdigest()}"


def read_context(folder: Path) -> list[ContextFile]:
    """The files of a build context, sorted, without what .dockerignore leaves out.

    Modes are reduced to whether a file can be executed, as umasks and checkouts differ.
    """
    ignore = folder / ".dockerignore"
    patterns = _patterns(ignore.read_text()) if ignore.is_file() else []
    files = []
    for name in sorted(exclude_paths(str(folder), patterns)):
        path = folder / name
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            files.append(ContextFile(name, 0o777, link=os.readlink(path)))
        elif stat.S_ISDIR(mode):
            files.append(ContextFile(name, 0o755))
        elif stat.S_ISREG(mode):
            files.append(ContextFile(name, 0o755 if mode & 0o100 else 0o644, path.read_bytes()))
    return files


def pack_context(files: Sequence[ContextFile]) -> bytes:
    """A tar that depends on nothing but the files: owner 0, time 0."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for file in files:
            info = tarfile.TarInfo(file.path)
            info.mode = file.mode
            if file.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, file.link
            elif file.data is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(file.data)
            archive.addfile(info, None if file.data is None else io.BytesIO(file.data))
    return buffer.getvalue()


def declared_args(dockerfile: str) -> dict[str, str | None]:
    """Every build argument of a Dockerfile and its default."""
    found = (ARG.match(line) for line in _logical_lines(dockerfile))
    return {match[1]: _unquote(match[2]) for match in found if match}


def base_images(dockerfile: str, args: Mapping[str, str]) -> list[str]:
    """The images a Dockerfile starts from, its own stages and `scratch` left out.

    Only arguments declared before the first FROM count in a FROM line, as for the engine.
    """
    values: dict[str, str] = {}
    stages: set[str] = set()
    bases: list[str] = []
    before_first = True
    for line in _logical_lines(dockerfile):
        arg, start = ARG.match(line), FROM.match(line)
        if arg and before_first:
            default = _expand(_unquote(arg[2]) or "", values)
            values[arg[1]] = args.get(arg[1], default)
        elif start:
            before_first = False
            name = _expand(start[1], values)
            if name not in stages and name != "scratch" and not name.isdigit() and name not in bases:
                bases.append(name)
            if start[2]:
                stages.add(start[2])
    return bases


def recipe_digest(
    files: Sequence[ContextFile],
    args: Mapping[str, str],
    bases: Mapping[str, str],
    layers: Sequence[str] = (),
    platform: str | None = None,
) -> str:
    """sha256 of everything that decides what is built, as "sha256:<hex>".

    `bases`: the identity of each base, not its name; a base under another name is the same base.
    """
    recipe = {
        "files": [file.line for file in files],
        "args": dict(args),
        "bases": sorted(bases.values()),
        "layers": list(layers),
        "platform": platform,
    }
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _patterns(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _logical_lines(dockerfile: str) -> list[str]:
    kept = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(kept).replace("\\\n", " ").splitlines()


def _unquote(text: str | None) -> str | None:
    return None if text is None else text.strip().strip("\"'")


def _expand(text: str, values: Mapping[str, str]) -> str:
    return VARIABLE.sub(lambda match: values.get(match[1] or match[3]) or match[2] or "", text)
