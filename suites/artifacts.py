"""Declared artifacts: collected from one sandbox, bounded and safe, and written into another.

What is collected was made by an agent and is treated as hostile: links that lead out of an artifact,
`..`, absolute names and set-uid bits do not survive; devices, fifos and sockets are never read; more
bytes or files than allowed end the collection of that artifact with a sentence.
"""

import fnmatch
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sandboxes.base import Command, FileEntry, PathMissingError, Sandbox, TooLargeError
from suites.evidence import PATH
from suites.files import fresh_folder
from suites.task import ArtifactSpec, CollectHook, Grading, Step

MAX_ARTIFACT_BYTES = 256_000_000
MAX_ARTIFACT_FILES = 50_000
LINK_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Artifact:
    """One collected artifact, or why there is none. `entries` have paths at and below `spec.source`."""

    spec: ArtifactSpec
    entries: tuple[FileEntry, ...] = ()
    problem: str | None = None
    dropped: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(len(entry.data or b"") for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Taken:
    """What was collected of one sandbox."""

    artifacts: tuple[Artifact, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[FileEntry, ...]:
        """Everything, with the paths it had where it was collected."""
        return tuple(entry for artifact in self.artifacts for entry in artifact.entries)

    @property
    def flags(self) -> tuple[str, ...]:
        """What must be looked at: what could not be taken, and paths dropped because they were not safe."""
        gone = [f"artifact:{artifact.problem}" for artifact in self.artifacts if artifact.problem]
        dropped = [f"artifact_dropped:{path}" for artifact in self.artifacts for path in artifact.dropped[:5]]
        return (*self.problems, *gone, *dropped)


def collect(
    sandbox: Sandbox,
    step: Step,
    grading: Grading,
    max_bytes: int = MAX_ARTIFACT_BYTES,
    service: str = "main",
) -> Taken:
    """Run the collect hooks of one service, then take its artifacts; `max_bytes` is for all together.

    A hook that fails and an artifact that is missing, a link, or too large are flags and no errors.
    Without hooks and artifacts nothing is called. Raises SandboxError when the place fails.
    """
    problems = [line for hook in grading.collect if hook.service == service for line in _run(sandbox, hook)]
    found = []
    left = max_bytes
    for spec in step.artifacts:
        if spec.service == service:
            artifact = _collect(sandbox, spec, left)
            left -= artifact.size_bytes
            found.append(artifact)
    return Taken(tuple(found), tuple(problems))


def put_back(sandbox: Sandbox, taken: Taken) -> None:
    """Write what was taken into another sandbox, in one call; nothing is called when nothing was taken."""
    entries = artifact_entries(taken.artifacts)
    if entries:
        sandbox.put(entries)


def artifact_entries(artifacts: Sequence[Artifact]) -> list[FileEntry]:
    """Entries that put the artifacts where a separate grader expects them.

    A folder takes the place of the folder that the grader's image has, so that what the agent deleted is
    gone there too. Files can be read by everybody; no set-uid, set-gid or sticky bit is kept.
    """
    entries: list[FileEntry] = []
    for artifact in artifacts:
        source = artifact.spec.source
        target = artifact.spec.destination or source
        for entry in artifact.entries:
            moved = replace(entry, path=target + entry.path[len(source) :], mode=_mode(entry))
            is_root = entry.path == source and entry.data is None and entry.link is None
            entries += fresh_folder(target, moved.mode) if is_root else [moved]
    return entries


def safe_entries(entries: Sequence[FileEntry], root: str) -> tuple[list[FileEntry], list[str]]:
    """(entries that stay below `root`, paths that were dropped). Pure.

    A link is kept when it is relative and what it names, through other kept links, stays below the root.
    """
    kept: list[FileEntry] = []
    dropped: list[str] = []
    links = {entry.path: entry.link for entry in entries if entry.link is not None}
    for entry in entries:
        inside = posixpath.normpath(entry.path) == entry.path and _below(entry.path, root)
        through_link = any(parent in links for parent in _parents(entry.path, root))
        if not inside or through_link or (entry.link is not None and not _stays(entry.path, links, root)):
            dropped.append(entry.path)
        else:
            kept.append(entry)
    return kept, dropped


def _run(sandbox: Sandbox, hook: CollectHook) -> list[str]:
    result = sandbox.exec(
        Command(
            argv=("/bin/bash", "-c", hook.command),
            user=hook.user,
            env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"},
            clean_env=True,
            timeout_s=hook.timeout_s,
            max_output_bytes=4_000,
        )
    )
    if result.exit_code == 0:
        return []
    how = "timed out" if result.timed_out else f"ended with {result.exit_code}"
    return [f"collect_hook:{hook.command[:80]!r} {how}"]


def _collect(sandbox: Sandbox, spec: ArtifactSpec, max_bytes: int) -> Artifact:
    try:
        entries = sandbox.get(spec.source, max(max_bytes, 0))
    except PathMissingError:
        return Artifact(spec, problem=f"{spec.source} is not there")
    except TooLargeError:
        return Artifact(spec, problem=f"{spec.source} holds more than {max_bytes} bytes")
    if len(entries) > MAX_ARTIFACT_FILES:
        return Artifact(spec, problem=f"{spec.source} holds {len(entries)} files, more than {MAX_ARTIFACT_FILES}")
    if entries and entries[0].path == spec.source and entries[0].link is not None:
        return Artifact(spec, problem=f"{spec.source} is a link")
    wanted = [entry for entry in entries if not _excluded(entry.path, spec)]
    kept, dropped = safe_entries(wanted, spec.source)
    return Artifact(spec, tuple(kept), dropped=tuple(dropped))


def _excluded(path: str, spec: ArtifactSpec) -> bool:
    relative = path[len(spec.source) :].strip("/")
    parts = relative.split("/")
    names = [relative, *parts, *("/".join(parts[: i + 1]) for i in range(len(parts)))]
    return bool(relative) and any(
        fnmatch.fnmatchcase(name, pattern.strip("/")) for pattern in spec.exclude for name in names
    )


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _parents(path: str, root: str) -> list[str]:
    found = []
    parent = posixpath.dirname(path)
    while _below(parent, root) and parent != "/":
        found.append(parent)
        parent = posixpath.dirname(parent)
    return found


def _stays(path: str, links: dict[str, str], root: str) -> bool:
    """Whether a link, followed step by step through the artifact's own links, stays below the root."""
    for _ in range(LINK_DEPTH):
        target = links[path]
        if target.startswith("/"):
            return False
        current = posixpath.dirname(path)
        following = ""
        for part in target.split("/"):
            current = posixpath.normpath(posixpath.join(current, part))
            if not _below(current, root):
                return False
            if current in links:
                following = current
                if not target.endswith(part):
                    return False
        if not following:
            return True
        path = following
    return False


def _mode(entry: FileEntry) -> int:
    readable = 0o555 if entry.data is None else 0o444
    return (entry.mode & 0o777) | readable
