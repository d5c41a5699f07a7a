"""A registry where nodes share what they make: asked before an image is built, given it afterwards.

An image's tag there ends with its recipe's digest, and one that does not carry that digest is not taken: who may push
there is trusted as much as who may build here. A registry that fails costs time and no trial: the image is built
here as if there were none, and what is wrong is told.
"""

import contextlib
import re
from collections.abc import Callable, Iterator

import docker.errors

from sandboxes.base import ImageError, SandboxError
from sandboxes.docker_engine import Engine, engine_errors
from sandboxes.engine_output import follow

VARIABLE = "PASSHAT_REGISTRY"
TIMEOUT_S = 1800.0
_REPOSITORY = re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+")


class SharedImages:
    """The images of a repository, such as registry.internal:5000/passhat, by the names that they have here.

    `warn` is told in a sentence what does not work with it.
    """

    def __init__(self, engine: Engine, repository: str, warn: Callable[[str], None] = lambda line: None) -> None:
        if not _REPOSITORY.fullmatch(repository):
            raise ImageError(
                f"{VARIABLE}={repository!r} is no repository of a registry: write HOST[:PORT]/NAME in small letters"
            )
        self._engine = engine
        self._repository = repository
        self._warn = warn

    def fetch(self, reference: str, label: str, value: str | None) -> bool:
        """Pull an image that carries the label, with this value where one is given, and name it `reference`."""
        client, tag = self._engine.client, reference.replace(":", "-")
        try:
            with engine_errors(f"pull {self._repository}:{tag}"):
                follow(
                    client.pull(self._repository, tag=tag, stream=True, decode=True),
                    TIMEOUT_S,
                    "it could not be pulled",
                )
                with self._unnamed(tag) as there:
                    labels = client.inspect_image(there)["Config"].get("Labels") or {}  # type: ignore[no-untyped-call]
                    if label not in labels or value not in (None, labels[label]):
                        self._warn(f"{there} does not carry {label}={value} and is not used: remove it there")
                        return False
                    name, _, own = reference.rpartition(":")
                    client.tag(there, name, own, force=True)
        except SandboxError as error:
            if not _is_missing(error):
                self._warn(f"the registry that nodes share gave no {reference}, which is made here: {error}")
            return False
        return True

    def offer(self, reference: str) -> None:
        """Push an image that this engine has."""
        client, tag = self._engine.client, reference.replace(":", "-")
        try:
            with engine_errors(f"push {self._repository}:{tag}"):
                client.tag(reference, self._repository, tag, force=True)
                with self._unnamed(tag):
                    follow(
                        client.push(self._repository, tag=tag, stream=True, decode=True),
                        TIMEOUT_S,
                        "it could not be pushed",
                    )
        except SandboxError as error:
            self._warn(f"{reference} was made here and could not be given to the registry that nodes share: {error}")

    @contextlib.contextmanager
    def _unnamed(self, tag: str) -> Iterator[str]:
        """The image by the registry's name, which it loses at the end."""
        name = f"{self._repository}:{tag}"
        try:
            yield name
        finally:
            with contextlib.suppress(docker.errors.APIError):
                self._engine.client.remove_image(name, noprune=True)


def _is_missing(error: SandboxError) -> bool:
    return isinstance(error.__cause__, docker.errors.NotFound) or "manifest unknown" in str(error)
