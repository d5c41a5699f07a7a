"""Makes images ready on this machine before a sweep, and checks a suite with its oracle and with nop."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from sandboxes.base import ImageError
from sandboxes.docker import DockerProvider
from sandboxes.snapshot import ImageSnapshot
from suites.loading import load_suite


def ensure_base(say: Callable[[str], None]) -> ImageSnapshot:
    """The base image, bootstrapped when the engine does not have it. Raises ImageError with what to install."""
    with DockerProvider.from_environment(os.environ, warn=say) as provider:
        say("looking for the base image; making it from Debian packages takes about half a minute")
        return provider.images.ensure_base()


def ensure_images(path: Path, say: Callable[[str], None], as_json: bool) -> int:
    """Every task's image, those of its services, and separate grader images; returns how many could not be made."""
    suite = load_suite(path)
    failed = 0
    with DockerProvider.from_environment(os.environ, warn=say) as provider:
        for task in suite.tasks:
            sources = [task.image, *(s.grading.image for s in task.steps if s.grading.image is not None)]
            sources += [service.image for service in task.services]
            for source in sources:
                try:
                    image = provider.ensure_image(source)
                except ImageError as error:
                    failed += 1
                    say(_line(as_json, task=task.name, ok=False, message=str(error)))
                else:
                    say(_line(as_json, task=task.name, ok=True, message=f"{image.digest_kind} {image.digest[:19]}"))
    for name, reason in suite.refused:
        failed += 1
        say(_line(as_json, task=name, ok=False, message=reason))
    return failed


def _line(as_json: bool, **fields: object) -> str:
    if as_json:
        return json.dumps(fields)
    return f"{'ready ' if fields['ok'] else 'FAILED'} {fields['task']}: {fields['message']}"
