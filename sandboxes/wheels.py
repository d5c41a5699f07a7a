"""Python packages for images, downloaded on the host, so that no build needs a network.

Whatever comes is checked against the hashes of the requirements file; a file without hashes is refused.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandboxes.base import ImageError
from sandboxes.locks import waiting_lock

HASH = re.compile(r"--hash[=\s]+sha256:([0-9a-f]{64})")
LAST_LINES = 15


def read_hashes(requirements: Path) -> frozenset[str]:
    """The sha256 hashes a requirements file allows. Raises ImageError when there are none."""
    try:
        hashes = frozenset(HASH.findall(requirements.read_text()))
    except OSError as error:
        raise ImageError(
            f"wheels of {requirements} were asked for, and it cannot be read ({error.strerror}): name an"
            " existing requirements file"
        ) from error
    if not hashes:
        raise ImageError(
            f"wheels of {requirements} were asked for, and it holds no --hash=sha256:...: pin every package"
            " with its hash"
        )
    return hashes


def download_wheels(requirements: Path, cache_folder: Path, lock_folder: Path, timeout_s: float) -> list[Path]:
    """The files a requirements file names, from the cache or downloaded into it, sorted by name.

    Once per host and content: others wait for the one that downloads. Raises ImageError.
    """
    hashes = read_hashes(requirements)
    key = hashlib.sha256(requirements.read_bytes()).hexdigest()[:24]
    folder = cache_folder / "wheels" / key
    if not folder.is_dir():
        with waiting_lock(lock_folder / "wheels" / key, timeout_s, f"download the wheels of {requirements}"):
            if not folder.is_dir():
                _download(requirements, folder, hashes, timeout_s)
    files = sorted(folder.iterdir())
    _check(files, hashes, requirements)
    return files


def _download(requirements: Path, folder: Path, hashes: frozenset[str], timeout_s: float) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".download-", dir=folder.parent))
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "--no-deps",
        "--dest",
        str(aside),
        "-r",
        str(requirements),
    ]
    try:
        result = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s, check=False
        )
        if result.returncode:
            raise ImageError(_failure(requirements, result.stdout.decode(errors="replace")))
        _check(sorted(aside.iterdir()), hashes, requirements)
        os.replace(aside, folder)
    except subprocess.TimeoutExpired as error:
        raise ImageError(
            f"the wheels of {requirements} did not arrive within {timeout_s:.0f} s: see whether the package"
            " index can be reached"
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _check(files: list[Path], hashes: frozenset[str], requirements: Path) -> None:
    for file in files:
        found = hashlib.sha256(file.read_bytes()).hexdigest()
        if found not in hashes:
            raise ImageError(
                f"{file.name} has the hash {found}, which {requirements} does not allow: remove it from"
                f" {file.parent}, or correct the hash"
            )


def _failure(requirements: Path, output: str) -> str:
    last = "\n".join(output.strip().splitlines()[-LAST_LINES:])
    return f"the wheels of {requirements} could not be downloaded with pip; its last lines:\n{last}"
