"""What a Dockerfile takes in another version tomorrow: packages, clones, bases. Text only, nothing is run."""

import re
from collections.abc import Iterator

PINNED = re.compile(r"==|@|\.whl$|\.tar\.gz$|\.zip$|^[./]|^\$")
TAKES_VALUE = frozenset({"-r", "-c", "-e", "-i", "-f", "-t", "--requirement", "--constraint", "--editable", "--index-url",
                         "--extra-index-url", "--find-links", "--target", "--prefix", "--root", "--root-user-action",
                         "--timeout", "--retries", "--trusted-host", "--cache-dir", "--python-version", "--platform",
                         "--no-binary", "--only-binary", "--progress-bar", "--config-settings"})  # fmt: skip
MOVING = re.compile(r"(?:--branch[ =]|-b )(?:main|master|develop|trunk|dev)\b")


def lines(text: str) -> list[str]:
    """The lines of a script or Dockerfile, continued ones joined."""
    return text.replace("\\\n", " ").splitlines()


def loose_packages(line: str) -> list[str]:
    """What the line installs by pip without a fixed version; what an option takes is none of them.

    With --require-hashes pip itself refuses whatever is not pinned.
    """
    loose: list[str] = []
    for found in re.finditer(r"\bpip[0-9.]*\s+install\b([^;&|]*)", line):
        before, words = "", found.group(1).split()
        for word in words if "--require-hashes" not in words else []:
            package = word.strip("\"'")
            if not package.startswith("-") and before not in TAKES_VALUE and not PINNED.search(package):
                loose.append(package)
            before = word
    return loose


def clones_newest(line: str, text: str) -> bool:
    """Whether the line clones a repository at no commit or tag; `text` is the file, which may check one out."""
    if not re.search(r"\bgit clone\b", line):
        return False
    fixed = "checkout" in text or "--branch" in line or re.search(r"\s-b\s", line) is not None
    return MOVING.search(line) is not None or not fixed


def loose_bases(text: str) -> Iterator[str]:
    """Bases without a version, arguments filled in by their defaults; a stage of the same file is no base."""
    defaults = dict(re.findall(r"^ARG\s+(\w+)=[\"']?([^\s\"']+)", text, re.MULTILINE))
    named = re.findall(r"^FROM\s.*\sAS\s+(\S+)", text, re.MULTILINE | re.IGNORECASE)
    stages = {stage.lower() for stage in named}
    for told in re.findall(r"^FROM\s+(?:--\S+\s+)*(\S+)", text, re.MULTILINE):
        base = re.sub(r"\$\{?(\w+)\}?", lambda found: defaults.get(found.group(1), found.group(0)), told)
        tag = base.rsplit("/", 1)[-1].partition(":")[2]
        if "$" not in base and base != "scratch" and base.lower() not in stages and tag in ("", "latest"):
            yield base
