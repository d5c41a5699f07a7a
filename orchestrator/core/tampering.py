"""The engine's diff of a container -> flags, and whether one of them keeps the row out of the score. Pure.

Shared grading runs in the container the agent worked in. What the agent changed outside its work folder is
flagged; what a grader runs through (its shell, its interpreter, their start-up files, the dynamic loader)
makes the row suspect. Installing new packages is flagged, not suspect: many tasks ask for it.
"""

import re
from collections.abc import Iterable, Sequence

MAX_FLAGS = 50

_SYSTEM = re.compile(r"^/(usr|bin|sbin|lib|lib32|lib64|libx32|etc|opt|boot)(/|$)")
_BINARY_DIR = re.compile(r"^(/usr)?(/local)?/s?bin/(?P<name>[^/]+)$")
_STARTUP = re.compile(
    r"^/etc/(profile|bash\.bashrc|environment|ld\.so\.preload|ld\.so\.conf)(\.d/|$)"
    r"|^/(root|home/[^/]+)/\.(bashrc|bash_profile|bash_login|profile|zshrc|pythonrc|config/pip)"
    r"|/(sitecustomize|usercustomize|conftest|pytest)\.(py|so)$|\.pth$|/(ld-linux[^/]*|libc|libc\.so\.6|libpthread[^/]*)$"
)
# The interpreter's own library and the test runner: a grader imports them, and no task asks to change them.
_INTERPRETER = re.compile(
    r"^/(usr/)?(local/)?lib(32|64)?/python[0-9.]+/(?!(site|dist)-packages/).*\.(py|pyc|so)$"
    r"|/(_pytest|pytest|pluggy)/.*\.(py|pyc|so)$|^/(usr/)?lib/.*\.so(\.[0-9.]+)?$"
)
_GRADER_TOOLS = frozenset(
    [
        "bash",
        "sh",
        "dash",
        "env",
        "cat",
        "cp",
        "mv",
        "rm",
        "ls",
        "grep",
        "sed",
        "awk",
        "find",
        "test",
        "[",
        "echo",
        "head",
        "tail",
        "tr",
        "cut",
        "sort",
        "uniq",
        "wc",
        "diff",
        "cmp",
        "mkdir",
        "chmod",
        "chown",
        "timeout",
        "sleep",
        "date",
        "id",
        "su",
        "sudo",
        "setsid",
        "nice",
        "tee",
        "xargs",
        "python",
        "python3",
        "pip",
        "pip3",
        "pytest",
        "node",
        "npm",
        "java",
        "gcc",
        "cc",
        "make",
        "git",
        "perl",
        "ruby",
        "cargo",
        "go",
        "uv",
    ]
)
_PYTHON = re.compile(r"^(python|pytest|pip)[0-9.]*$")
_IGNORED = re.compile(
    r"(/__pycache__(/|$)|\.pyc$|^/(tmp|var/tmp|proc|sys|dev|run|logs|tests|solution)(/|$)|^/etc/(hosts|hostname|resolv\.conf|mtab)$)"
)


def inspect_changes(changes: Iterable[tuple[str, str]], own_folders: Sequence[str]) -> tuple[list[str], bool]:
    """Flags ("changed:/usr/bin/python3") and whether the row is suspect.

    `changes`: (path, kind) with kind changed, added or deleted. `own_folders`: where the agent was meant to
    work. At most MAX_FLAGS flags are given, suspect ones first, and one that counts the rest.
    """
    plain: list[str] = []
    severe: list[str] = []
    for path, kind in changes:
        if _is_interpreter(path, kind):
            severe.append(f"{kind}:{path}")
        elif _IGNORED.search(path):
            continue
        elif _is_severe(path, kind):
            severe.append(f"{kind}:{path}")
        elif _SYSTEM.match(path) and not any(_inside(path, folder) for folder in own_folders):
            plain.append(f"{kind}:{path}")
    flags = severe + plain
    if len(flags) > MAX_FLAGS:
        flags = [*flags[:MAX_FLAGS], f"changes_not_listed:{len(flags) - MAX_FLAGS}"]
    return flags, bool(severe)


def _is_interpreter(path: str, kind: str) -> bool:
    """What was there is changed or gone, or something new stands before the installed packages.

    New byte code in `__pycache__` is what every run of Python leaves, and says nothing.
    """
    if not _INTERPRETER.search(path):
        return False
    is_own = "python" in path and "-packages/" not in path and ".so" not in path
    return kind != "added" or (is_own and "/__pycache__/" not in path)


def _is_severe(path: str, kind: str) -> bool:
    if _STARTUP.search(path):
        return True
    binary = _BINARY_DIR.match(path)
    if not binary:
        return False
    name = binary["name"]
    return name in _GRADER_TOOLS or bool(_PYTHON.match(name)) or kind != "added"


def _inside(path: str, folder: str) -> bool:
    root = folder.rstrip("/")
    return bool(root) and (path == root or path.startswith(root + "/"))
