"""A base image from Debian packages, where no registry can be reached. Knows no task.

The packages come through this machine's own apt configuration. The archive is the same, byte for byte,
for the same packages; its digest is the image's identity and stands in a label of it.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sandboxes.base import ImageError

BASE_REFERENCE = "passhat-base:bookworm"
ARCHIVE_LABEL = "passhat.archive"
SUITE = "bookworm"
PACKAGES = (
    "bash",
    "ca-certificates",
    "procps",
    "python-is-python3",
    "python3",
    "python3-pip",
    "python3-setuptools",
    "python3-wheel",
)
SOURCE_DATE_EPOCH = "1700000000"
TIMEOUT_S = 1800.0
LAST_LINES = 15
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LEFT_OUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")
HOOKS = (
    # As in the public Python images: pip may install for the whole system.
    'rm -f "$1"/usr/lib/python3*/EXTERNALLY-MANAGED',
    'rm -rf "$1"/var/cache/* "$1"/var/log/* "$1"/var/lib/apt/lists/*; : > "$1/etc/machine-id"',
    'rm -f "$1/etc/resolv.conf" "$1/etc/hostname"',
)

ENVIRONMENT = (f"ENV PATH={PATH}", "ENV LANG=C.UTF-8", 'CMD ["bash"]')


def make_archive(target: Path, say: Callable[[str], None] = lambda line: None) -> str:
    """Write the base's root file system as a tar to `target`; returns "sha256:<hex>" of it.

    Installs mmdebstrap when it is missing and this is root on a host with apt. Raises ImageError with
    what to install, or with the last lines of the output.
    """
    tool = find_tool(say)
    command = archive_command(tool, target, apt_sources(Path("/etc/apt"), SUITE), apt_options())
    say(f"making the base image from Debian packages with {Path(tool).name}")
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}
    _run(command, environment, "the base image could not be made from Debian packages")
    with target.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def find_tool(say: Callable[[str], None] = lambda line: None) -> str:
    """The path of mmdebstrap. Raises ImageError with what to install."""
    tool = shutil.which("mmdebstrap", path=PATH)
    if tool is None and os.geteuid() == 0 and shutil.which("apt-get", path=PATH):
        say("installing mmdebstrap with apt-get")
        environment = {"PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        failed = "the base image needs mmdebstrap, and apt-get could not install it"
        _run(["apt-get", "update", "-qq"], environment, failed)
        _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "mmdebstrap"], environment, failed)
        tool = shutil.which("mmdebstrap", path=PATH)
    if tool is None:
        raise ImageError(
            "a base image was asked for, and neither can one be pulled nor is mmdebstrap here to make it:"
            " install it (apt-get install mmdebstrap), or name an image that exists as base"
        )
    return tool


def archive_command(tool: str, target: Path, sources: Iterable[str], options: Iterable[str]) -> list[str]:
    """The command line that writes the archive."""
    sources = list(sources)
    return [
        tool,
        "--quiet",
        "--variant=minbase",
        f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
        "--format=tar",
        '--aptopt=APT::Install-Recommends "false"',
        *(f"--aptopt={option}" for option in options),
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        *(f"--customize-hook={hook}" for hook in HOOKS),
        f"--include={','.join(PACKAGES)}",
        SUITE,
        str(target),
        *sources,
    ]


def apt_sources(folder: Path, suite: str) -> list[str]:
    """This machine's one-line apt sources for a suite (its updates and security too), in file order.

    Empty where apt has none, as on another distribution: then the tool's own default is used.
    """
    lines: list[str] = []
    for path in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        if path.is_file() and path.suffix == ".sources":
            lines += _stanza_sources(path.read_text(), suite)
        elif path.is_file() and path.suffix == ".list":
            lines += _line_sources(path.read_text(), suite)
    return lines


def apt_options(dump: str | None = None) -> list[str]:
    """How this machine's apt reaches its sources: proxies, certificates, retries."""
    if dump is None:
        tool = shutil.which("apt-config", path=PATH)
        if tool is None:
            return []
        result = subprocess.run([tool, "dump"], capture_output=True, text=True, check=False, timeout=60)
        dump = result.stdout
    wanted = re.compile(r'^(Acquire::(?:https?|ftp|Retries|ForceIPv)\S*) "(.+)";$')
    found = (wanted.match(line) for line in dump.splitlines())
    return [f'{match[1]} "{match[2]}"' for match in found if match]


def _line_sources(text: str, suite: str) -> list[str]:
    pattern = re.compile(r"^deb\s+(?:\[[^\]]*\]\s+)?\S+\s+(\S+)\s")
    found = ((line.strip(), pattern.match(line.strip())) for line in text.splitlines())
    return [line for line, match in found if match and _is_of(match[1], suite)]


def _stanza_sources(text: str, suite: str) -> list[str]:
    lines: list[str] = []
    for stanza in re.split(r"\n\s*\n", text):
        kept = [line for line in stanza.splitlines() if line and line[0] not in "# \t"]
        pairs = (line.partition(":") for line in kept)
        fields = {key.strip().lower(): value.strip() for key, _, value in pairs}
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        key = fields.get("signed-by", "")
        option = f"[signed-by={key}] " if key.startswith("/") else ""
        lines += [
            f"deb {option}{uri} {name} {fields.get('components', '')}".strip()
            for uri in fields.get("uris", "").split()
            for name in fields.get("suites", "").split()
            if _is_of(name, suite)
        ]
    return lines


def _is_of(name: str, suite: str) -> bool:
    return name == suite or name in (f"{suite}-updates", f"{suite}-security")


def _run(command: list[str], environment: Mapping[str, str], failed: str) -> None:
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            code = subprocess.run(
                command,
                env=dict(environment),
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                timeout=TIMEOUT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
        if code:
            output.seek(0)
            last = output.read().decode(errors="replace").strip().splitlines()[-LAST_LINES:]
            raise ImageError(
                f"{failed} ({shlex.join(command[:1])} ended with {code} after"
                f" {time.monotonic() - started:.0f} s): see whether apt works here; its last lines:\n" + "\n".join(last)
            )
