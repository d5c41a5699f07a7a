"""Images: built, pulled or bootstrapped once per host and content, and what identifies them.

Workers that want the same image wait for the one that makes it. Knows no task.
"""

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker.errors

from sandboxes.base import ImageError, ImageSource, SandboxError
from sandboxes.bootstrap import ARCHIVE_LABEL, BASE_REFERENCE, ENVIRONMENT, TIMEOUT_S, make_archive
from sandboxes.docker_engine import Engine, engine_errors
from sandboxes.engine_output import follow
from sandboxes.locks import waiting_lock
from sandboxes.recipe import (
    ContextFile,
    base_images,
    declared_args,
    pack_context,
    read_context,
    recipe_digest,
)
from sandboxes.shared_images import SharedImages
from sandboxes.snapshot import ImageSnapshot
from sandboxes.wheels import download_wheels

RECIPE_LABEL = "passhat.recipe"
BUILT_REPOSITORY = "passhat-built"
BASE_ARGUMENT = "BASE"
PULL_TIMEOUT_S = 1800.0


class ImageStore:
    """The images of one engine. Safe to use from several processes with the same lock folder.

    `base` is what Dockerfiles get as build argument BASE. `say` is told what takes long. `shared`: a registry to
    which nodes give what they make, or None.
    """

    def __init__(
        self,
        engine: Engine,
        base: str,
        cache_folder: Path,
        lock_folder: Path,
        say: Callable[[str], None] = lambda line: None,
        shared: SharedImages | None = None,
    ) -> None:
        self._engine = engine
        self._base = base
        self._cache = cache_folder
        self._locks = lock_folder / "images"
        self._say = say
        self._shared = shared

    def ensure(self, source: ImageSource) -> ImageSnapshot:
        """Build or pull, or use what is there. Raises ImageError with the last lines of the output."""
        if (source.reference is None) == (source.dockerfile_dir is None):
            raise ImageError(
                "an image source needs either a reference or a folder with a Dockerfile, and"
                f" {'both were' if source.reference else 'neither was'} given"
            )
        if source.reference is not None:
            image = self.ensure_reference(source.reference, source.platform)
        else:
            image = self._ensure_built(source)
        return self._ensure_layers(image, source) if source.layers else image

    def ensure_base(self, reference: str = BASE_REFERENCE) -> ImageSnapshot:
        """The bootstrapped base image, made from Debian packages unless the engine has it."""
        found = self.find(reference)
        if found is not None:
            return found
        with self._once(reference, TIMEOUT_S):
            return self.find(reference) or self._fetched(reference, ARCHIVE_LABEL) or self._bootstrap(reference)

    def ensure_reference(self, reference: str, platform: str | None = None) -> ImageSnapshot:
        """An image by name: as the engine has it, else bootstrapped (ours) or pulled (others)."""
        found = self.find(reference)
        if found is not None:
            return found
        if reference == BASE_REFERENCE:
            return self.ensure_base(reference)
        with self._once(reference, PULL_TIMEOUT_S):
            return self.find(reference) or self._pull(reference, platform)

    def find(self, reference: str) -> ImageSnapshot | None:
        """What the engine has under a name, or None.

        Identity: the digest of its recipe or archive where we made it, else that of the registry it came
        from, else the engine's own id.
        """
        with engine_errors(f"look for image {reference}", self._engine.base_url):
            try:
                found = self._engine.client.inspect_image(reference)  # type: ignore[no-untyped-call]
            except docker.errors.NotFound:
                return None
        own = _own_digest(reference, found)
        engine_id = str(found["Id"])
        if own:
            return ImageSnapshot(reference, own, "recipe", engine_id)
        pulled = _registry_digest(reference, found.get("RepoDigests") or [])
        if pulled is not None:
            return ImageSnapshot(reference, pulled, "registry", engine_id)
        return ImageSnapshot(reference, engine_id, "engine", engine_id)

    def _ensure_built(self, source: ImageSource) -> ImageSnapshot:
        folder = Path(source.dockerfile_dir or "")
        if not (folder / "Dockerfile").is_file():
            raise ImageError(f"an image was to be built from {folder}, and no Dockerfile is there: add one")
        dockerfile = (folder / "Dockerfile").read_text()
        files = read_context(folder)
        if source.wheels is not None:
            files += self._wheels(Path(source.wheels), source.build_timeout_s)
        args = dict(source.build_args)
        if BASE_ARGUMENT in declared_args(dockerfile):
            args.setdefault(BASE_ARGUMENT, self._base)
        bases = {name: self.ensure_reference(name, source.platform).digest for name in base_images(dockerfile, args)}
        digest = recipe_digest(
            files, {**args, BASE_ARGUMENT: ""} if BASE_ARGUMENT in args else args, bases, (), source.platform
        )
        offline = source.wheels is not None
        return self._ensure_recipe(digest, files, args, source, offline)

    def _ensure_layers(self, image: ImageSnapshot, source: ImageSource) -> ImageSnapshot:
        text = "\n".join([f"FROM {image.reference}", *source.layers, ""])
        digest = recipe_digest([], {}, {image.reference: image.digest}, source.layers, source.platform)
        files = [ContextFile("Dockerfile", 0o644, text.encode())]
        return self._ensure_recipe(digest, files, {}, source, offline=False)

    def _ensure_recipe(
        self, digest: str, files: list[ContextFile], args: dict[str, str], source: ImageSource, offline: bool
    ) -> ImageSnapshot:
        reference = built_reference(digest)
        found = self.find(reference)
        if found is not None and found.digest == digest:
            return found
        with self._once(reference, source.build_timeout_s + 60):
            found = self.find(reference)
            if found is None or found.digest != digest:
                found = self._fetched(reference, RECIPE_LABEL, digest)
            if found is None:
                self._build(reference, digest, files, args, source, offline)
                self._offer(reference)
                found = self.find(reference)
        if found is None:
            raise ImageError(f"image {reference} was built and is gone again: see what removes images here")
        return found

    def _build(
        self,
        reference: str,
        digest: str,
        files: list[ContextFile],
        args: dict[str, str],
        source: ImageSource,
        offline: bool,
    ) -> None:
        what = source.dockerfile_dir or source.reference
        self._say(f"building {what}")
        options: dict[str, Any] = {"network_mode": "none"} if offline else {}
        with engine_errors(f"build an image from {what}", self._engine.base_url):
            progress = self._engine.client.build(
                fileobj=io.BytesIO(pack_context(files)),
                custom_context=True,
                tag=reference,
                rm=True,
                forcerm=True,
                decode=True,
                buildargs=args,
                labels={RECIPE_LABEL: digest},
                platform=source.platform,
                timeout=int(source.build_timeout_s),
                **options,
            )
            follow(progress, source.build_timeout_s, f"image of {what} could not be built")

    def _pull(self, reference: str, platform: str | None) -> ImageSnapshot:
        self._say(f"pulling {reference}")
        hint = (
            f"image {reference} is not in the engine and could not be pulled: check the name, or, where no"
            " registry can be reached, make a base with `passhat images bootstrap`"
        )
        try:
            with engine_errors(f"pull {reference}", self._engine.base_url):
                progress = self._engine.client.pull(
                    reference, tag=_tag(reference), stream=True, decode=True, platform=platform
                )
                follow(progress, PULL_TIMEOUT_S, hint)
        except ImageError:
            raise
        except SandboxError as error:
            if isinstance(error.__cause__, docker.errors.APIError):
                raise ImageError(f"{hint}; the engine said:\n{error.__cause__.explanation}") from error
            raise
        found = self.find(reference)
        if found is None:
            raise ImageError(f"{hint}; the engine said that it was pulled, and does not have it")
        return found

    def _bootstrap(self, reference: str) -> ImageSnapshot:
        folder = self._cache / "base"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            archive = Path(aside, "base.tar")
            digest = make_archive(archive, self._say)
            repository, _, tag = reference.partition(":")
            changes = [*ENVIRONMENT, f"LABEL {ARCHIVE_LABEL}={digest}"]
            with engine_errors(f"import {reference}", self._engine.base_url):
                self._engine.client.import_image(str(archive), repository, tag or "latest", changes=changes)
        found = self.find(reference)
        if found is None:
            raise ImageError(f"{reference} was imported and the engine does not have it: see its log")
        self._offer(reference)
        return found

    def _fetched(self, reference: str, label: str, value: str | None = None) -> ImageSnapshot | None:
        """The image from the registry that nodes share, or None."""
        if self._shared is None:
            return None
        return self.find(reference) if self._shared.fetch(reference, label, value) else None

    def _offer(self, reference: str) -> None:
        if self._shared is not None:
            self._shared.offer(reference)

    def _wheels(self, requirements: Path, timeout_s: float) -> list[ContextFile]:
        paths = download_wheels(requirements, self._cache, self._locks.parent, timeout_s)
        files = [ContextFile(f"wheels/{path.name}", 0o644, path.read_bytes()) for path in paths]
        return [ContextFile("wheels", 0o755), *files]

    @contextlib.contextmanager
    def _once(self, reference: str, timeout_s: float) -> Iterator[None]:
        name = reference.replace("/", "_").replace(":", "_")
        with waiting_lock(self._locks / name, timeout_s, f"make image {reference}"):
            yield


def _own_digest(reference: str, found: dict[str, Any]) -> str | None:
    """The digest that our label states, where it is this image's: children inherit the labels of a base.

    What we built has its recipe in its tag; what we imported says so and has the archive as only layer.
    """
    labels = (found.get("Config") or {}).get("Labels") or {}
    recipe, archive = labels.get(RECIPE_LABEL), labels.get(ARCHIVE_LABEL)
    if recipe and reference == built_reference(recipe):
        return str(recipe)
    layers = (found.get("RootFS") or {}).get("Layers") or []
    imported = str(found.get("Comment") or "").startswith("Imported") and len(layers) == 1
    return str(archive) if archive and imported else None


def built_reference(digest: str) -> str:
    """The name of the image that was built from a recipe."""
    return f"{BUILT_REPOSITORY}:{digest.removeprefix('sha256:')[:32]}"


def _tag(reference: str) -> str | None:
    """`latest` where a name has neither tag nor digest; else the engine would pull every tag."""
    last = reference.rpartition("/")[2]
    return None if ":" in last or "@" in last else "latest"


def _registry_digest(reference: str, digests: list[str]) -> str | None:
    name = reference.partition("@")[0]
    head, _, last = name.rpartition("/")
    repository = f"{head}/{last.partition(':')[0]}" if head else last.partition(":")[0]
    matching = [item for item in digests if item.partition("@")[0].endswith(repository)]
    chosen = (matching or digests)[:1]
    return chosen[0].partition("@")[2] if chosen else None
