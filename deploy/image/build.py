"""Makes passhat:latest from this checkout: the wheels of the lock file, passhat's own wheel, the suites that ship."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from sandboxes.base import ImageSource
from sandboxes.docker import DockerProvider

CHECKOUT = Path(__file__).resolve().parents[2]
CONTEXT = CHECKOUT / "build" / "image"
LOCK = CHECKOUT / "deploy" / "image" / "requirements.lock"
REPOSITORY, TAG = "passhat", "latest"
SOURCE_DATE_EPOCH = "1700000000"


def make_context(folder: Path = CONTEXT) -> Path:
    """The build context without the wheels of others: Dockerfile, lock file, our wheel, suites."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(CHECKOUT / "deploy" / "image" / "Dockerfile", folder)
    shutil.copy(LOCK, folder)
    names = subprocess.run(
        ["git", "ls-files", "-z", "suites"], cwd=CHECKOUT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    for name in filter(None, names):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, folder / name)
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}
    subprocess.run([*wheel, "--wheel-dir", str(folder), str(CHECKOUT)], check=True, env=environment)
    return folder


def main() -> None:
    """Build when anything of it changed, and name it passhat:latest."""
    source = ImageSource(dockerfile_dir=str(make_context()), wheels=str(LOCK), build_timeout_s=1800.0)
    with DockerProvider.from_environment(os.environ, say=print) as provider:
        provider.images.ensure_base()
        image = provider.ensure_image(source)
        provider.engine.client.tag(image.engine_id, REPOSITORY, TAG, force=True)
    print(f"{REPOSITORY}:{TAG} is ready ({image.digest_kind} digest {image.digest[:19]})")


if __name__ == "__main__":
    main()
