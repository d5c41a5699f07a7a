"""What is read of a sandbox to judge it: bounded, regular files only, each folder read once.

Also the one run of the tests: everything that stood at /tests and /logs/verifier is replaced by the
engine itself while it unpacks (no program of the container has a hand in it), then one command runs.
"""

import posixpath
from dataclasses import dataclass, field

from sandboxes.base import Command, ExecResult, FileEntry, PathMissingError, Sandbox, TooLargeError
from suites.files import entries_below, fresh_folder
from suites.task import Grading, Task

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LOGS = "/logs/verifier"
STDOUT = f"{LOGS}/test-stdout.txt"
MAX_LOGS_BYTES = 32_000_000
DETAILS_BYTES = 8_000


class EvidenceError(ValueError):
    """A file that was to be judged is missing, too large or no regular file; `kind` names which."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(slots=True)
class Evidence:
    """Files of one sandbox as the graders see them; /logs/verifier is fetched once, the rest on demand."""

    sandbox: Sandbox
    logs: dict[str, FileEntry] | None = field(default=None)

    def read(self, path: str, max_bytes: int) -> bytes:
        """A regular file's bytes. Raises EvidenceError."""
        entry = self._entry(path, max_bytes)
        if entry is None:
            raise EvidenceError("missing", f"{path} is not there")
        if entry.link is not None or entry.data is None:
            raise EvidenceError("not_a_file", f"{path} is a {'link' if entry.link else 'folder'}, not a file")
        if len(entry.data) > max_bytes:
            raise EvidenceError("too_large", f"{path} has {len(entry.data)} bytes, more than {max_bytes}")
        return entry.data

    def exists(self, path: str) -> bool:
        """Whether anything, also a link, has the path."""
        return self._entry(path, DETAILS_BYTES, only_exists=True) is not None

    def folder(self, path: str, max_bytes: int) -> dict[str, FileEntry]:
        """Everything below a folder by absolute path. Raises EvidenceError."""
        try:
            return {entry.path: entry for entry in self.sandbox.get(path, max_bytes)}
        except PathMissingError as error:
            raise EvidenceError("missing", f"{path} is not there") from error
        except TooLargeError as error:
            raise EvidenceError("too_large", f"{path} holds more than {max_bytes} bytes") from error

    def printed(self) -> str:
        """The tail of what the tests printed."""
        try:
            data = self.read(STDOUT, MAX_LOGS_BYTES)
        except EvidenceError:
            return ""
        return data[-DETAILS_BYTES:].decode("utf-8", errors="replace")

    def _entry(self, path: str, max_bytes: int, only_exists: bool = False) -> FileEntry | None:
        if self.logs is not None and posixpath.dirname(path) == LOGS:
            return self.logs.get(path)
        try:
            found = {entry.path: entry for entry in self.sandbox.get(path, max_bytes + 4096)}
        except PathMissingError:
            return None
        except TooLargeError as error:
            if only_exists:
                return FileEntry(path)
            raise EvidenceError("too_large", f"{path} has more than {max_bytes} bytes") from error
        return found.get(path)


def run_tests(sandbox: Sandbox, task: Task, grading: Grading, timeout_s: float, open_logs: bool) -> ExecResult:
    """Put the tests into new folders and run them under the timeout; three calls with `fetch_logs`.

    Guaranteed: nothing the agent left at /tests or /logs/verifier (files, links, fifos, folders) is there
    when the tests start. Not guaranteed in shared mode: that bash, python or a library outside these
    folders is the image's; whoever could write there as root is seen only by the engine's diff.
    """
    sandbox.put(tests_entries(task, grading, open_logs))
    script = grading.script.name if grading.script is not None else "test.sh"
    return sandbox.exec(
        Command(
            argv=("/bin/bash", "-c", f"(/tests/{script}) > {STDOUT} 2>&1"),
            user=grading.user,
            workdir=grading.workdir or task.workdir,
            env=tests_env(task, grading),
            clean_env=not grading.image_env,
            timeout_s=timeout_s,
        )
    )


def tests_entries(task: Task, grading: Grading, open_logs: bool) -> list[FileEntry]:
    """A new /logs/verifier and a new /tests with the tests, root's and not writable by others.

    `open_logs`: /logs/verifier may be written by every user, as the shared format has it.
    """
    entries = [FileEntry("/logs", mode=0o755), *fresh_folder(LOGS, 0o777 if open_logs else 0o755)]
    entries += fresh_folder("/tests")
    for folder in (grading.shared_tests_dir, grading.tests_dir):
        if folder is not None:
            entries += entries_below(folder, "/tests", task.folder)[2:]
    if grading.script is not None:
        entries.append(FileEntry(f"/tests/{grading.script.name}", grading.script.read_bytes(), mode=0o755))
    return [_runnable(entry) for entry in entries]


def tests_env(task: Task, grading: Grading) -> dict[str, str]:
    """The variables of the tests: a fixed PATH, or what the image says (which no agent can change).

    BASH_ENV and ENV, files a shell would read first, are always empty.
    """
    if grading.image_env:
        base = {"BASH_ENV": "", "ENV": ""}
    else:
        home = "/root" if grading.user in (None, "root", "0") else f"/home/{grading.user}"
        base = {"PATH": PATH, "HOME": home, "LANG": "C.UTF-8"}
    return {**base, **task.env, **grading.env}


def fetch_logs(sandbox: Sandbox) -> Evidence:
    """/logs/verifier in one call; when it is too large, its files are fetched one by one as they are read."""
    evidence = Evidence(sandbox)
    try:
        evidence.logs = evidence.folder(LOGS, MAX_LOGS_BYTES)
    except EvidenceError as error:
        evidence.logs = {} if error.kind == "missing" else None
    return evidence


def _runnable(entry: FileEntry) -> FileEntry:
    if entry.path == "/tests/test.sh" and entry.data is not None:
        return FileEntry(entry.path, entry.data, mode=0o755)
    return entry
