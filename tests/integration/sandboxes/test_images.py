"""Images: built offline, once, under an identity that does not depend on the builder; pulled; refused."""

import contextlib
import hashlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

from sandboxes.base import Command, ImageError, ImageSource
from sandboxes.bootstrap import ARCHIVE_LABEL, BASE_REFERENCE
from sandboxes.docker import DockerProvider
from sandboxes.shared_images import SharedImages
from tests.contract.sandbox_contract import request_for
from tests.integration.sandboxes.engine import forget, recording

pytestmark = pytest.mark.docker


@pytest.fixture
def store(base_image):
    with recording() as provider:
        yield provider


@pytest.fixture
def context(tmp_path):
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "Dockerfile").write_text(
        "ARG BASE=python:3.11-slim-bookworm\nFROM ${BASE}\nCOPY file /file\nRUN cp /file /copy\n"
    )
    (folder / "file").write_text(f"content {time.time_ns()}\n")
    return folder


def source(folder, **options):
    return ImageSource(dockerfile_dir=str(folder), **options)


def append(path, text):
    path.write_text(path.read_text() + text)


def run(provider, image, *argv):
    sandbox = provider.create(request_for(image))
    try:
        result = sandbox.exec(Command(argv))
        return result.stdout.text() + result.stderr.text()
    finally:
        sandbox.remove()


def test_the_base_is_identified_by_its_archive(base_image):
    assert base_image.digest_kind == "recipe"
    assert base_image.digest.startswith("sha256:")
    assert base_image.digest != base_image.engine_id


def test_the_base_has_what_task_images_need(seen_from_the_host, base_image):
    script = "python3 -m pip --version && python -c 'import sqlite3, setuptools, wheel' && ps --version && bash -c :"
    assert "pip" in run(seen_from_the_host, base_image, "sh", "-ec", script)


def test_a_build_has_the_base_and_its_recipe_as_identity(store, context):
    image = store.ensure_image(source(context))
    assert image.digest_kind == "recipe"
    assert run(store, image, "cat", "/copy") == (context / "file").read_text()
    copied = context.parent / "elsewhere"
    shutil.copytree(context, copied)
    assert store.ensure_image(source(copied)) == image


@pytest.mark.parametrize("change", ["file", "mode", "dockerfile", "argument", "layer"])
def test_whatever_decides_the_content_changes_the_identity(store, context, change):
    first = store.ensure_image(source(context))
    options = {}
    if change == "file":
        (context / "file").write_text("other")
    elif change == "mode":
        (context / "file").chmod(0o755)
    elif change == "dockerfile":
        append(context / "Dockerfile", "ENV MORE=1\n")
    elif change == "argument":
        options["build_args"] = {"BASE": BASE_REFERENCE, "OTHER": "1"}
        append(context / "Dockerfile", "ARG OTHER\n")
    else:
        options["layers"] = ("RUN echo agent > /agent",)
    second = store.ensure_image(source(context, **options))
    assert second.digest != first.digest
    assert second.image_key != first.image_key
    if change == "layer":
        assert run(store, second, "cat", "/agent", "/copy") == "agent\n" + (context / "file").read_text()


def test_what_is_ignored_does_not_count(store, context):
    (context / ".dockerignore").write_text("*.log\n")
    first = store.ensure_image(source(context))
    (context / "noise.log").write_text("1")
    assert store.ensure_image(source(context)) == first


def wheel_file(folder, name="tinything"):
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "VALUE = 42\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def requirements(tmp_path):
    """A requirements file whose one wheel lies in a local folder."""
    links = tmp_path / "links"
    links.mkdir()
    digest = hashlib.sha256(wheel_file(links).read_bytes()).hexdigest()
    path = tmp_path / "requirements.txt"
    path.write_text(f"--no-index\n--find-links {links}\ntinything==1.0 --hash=sha256:{digest}\n")
    return path


@pytest.fixture
def wheel_store(tmp_path, base_image):
    with recording(cache_folder=tmp_path / "cache", lock_folder=tmp_path / "locks") as provider:
        yield provider


def test_wheels_are_installed_without_a_network(wheel_store, context, requirements):
    (context / "Dockerfile").write_text(
        "ARG BASE\nFROM ${BASE}\nCOPY wheels/ /wheels/\nRUN ls /sys/class/net > /net && "
        "pip install --no-index --no-deps /wheels/*.whl\n"
    )
    image = wheel_store.ensure_image(source(context, wheels=str(requirements)))
    assert run(wheel_store, image, "cat", "/net") == "lo\n"
    assert run(wheel_store, image, "python3", "-c", "import tinything; print(tinything.VALUE)") == "42\n"


def test_a_wheel_with_another_hash_is_refused(wheel_store, context, requirements):
    text = requirements.read_text()
    requirements.write_text(text[: text.index("sha256:")] + "sha256:" + "0" * 64 + "\n")
    with pytest.raises(ImageError, match="could not be downloaded"):
        wheel_store.ensure_image(source(context, wheels=str(requirements)))


def test_a_wheel_that_was_changed_in_the_cache_is_refused(wheel_store, context, requirements, tmp_path):
    wheel_store.ensure_image(source(context, wheels=str(requirements)))
    cached = next((tmp_path / "cache" / "wheels").glob("*/*.whl"))
    cached.write_bytes(b"something else")
    with pytest.raises(ImageError, match="does not allow"):
        wheel_store.ensure_image(source(context, wheels=str(requirements)))


def test_requirements_without_hashes_are_refused(wheel_store, context, tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("tinything==1.0\n")
    with pytest.raises(ImageError, match="no --hash"):
        wheel_store.ensure_image(source(context, wheels=str(plain)))


def test_a_build_that_fails_shows_its_last_lines(store, context):
    (context / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\nRUN echo the-reason-is-here && exit 3\n")
    with pytest.raises(ImageError, match=r"(?s)could not be built.*the-reason-is-here.*code: 3"):
        store.ensure_image(source(context))


def test_a_folder_without_a_dockerfile(store, tmp_path):
    with pytest.raises(ImageError, match="no Dockerfile"):
        store.ensure_image(source(tmp_path))


def test_several_want_one_image_and_one_builds(store, context):
    said, found, failed = [], [], []

    def want():
        try:
            with DockerProvider(say=said.append) as provider:
                found.append(provider.ensure_image(source(context)))
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    forget(store, found[0].reference)
    assert len(set(found)) == 1
    assert len(found) == 4
    assert said == [f"building {context}"]


def test_an_image_that_cannot_be_had_says_what_to_do(store):
    with pytest.raises(ImageError, match="passhat images bootstrap"):
        store.ensure_image(ImageSource(reference="127.0.0.1:1/no/such:image"))


def registry_program():
    found = shutil.which("docker-registry")
    if found is None:
        if shutil.which("apt-get") is None:
            pytest.skip("docker-registry is not here, and there is no apt-get to install it")
        subprocess.run(["apt-get", "update", "-qq"], check=True, capture_output=True)
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "docker-registry"]
        subprocess.run(install, check=True, capture_output=True)
        found = shutil.which("docker-registry")
    return found


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """host:port of a real registry on this machine."""
    folder = tmp_path_factory.mktemp("registry")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "config.yml"
    config.write_text(
        f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {folder}/data\nhttp:\n  addr: 127.0.0.1:{port}\n"
    )
    with Path(folder, "log").open("wb") as log:
        process = subprocess.Popen([registry_program(), "serve", str(config)], stdout=log, stderr=log)
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def pushed(store, registry, tmp_path):
    """(reference by tag, reference by digest) of an image that only the registry has."""
    (tmp_path / "Dockerfile").write_text(f"FROM {BASE_REFERENCE}\nRUN echo {time.time_ns()} > /pushed\n")
    client = store.engine.client
    tag = f"{registry}/suite/task:v1"
    for line in client.build(path=str(tmp_path), tag=tag, rm=True, decode=True):
        assert "error" not in line, line
    answers = client.push(tag, stream=True, decode=True)
    digest = next(line["aux"]["Digest"] for line in answers if "aux" in line)
    client.remove_image(tag, force=True)
    yield tag, f"{registry}/suite/task@{digest}"
    forget(store, tag, f"{registry}/suite/task@{digest}")


def test_a_child_of_ours_does_not_pass_for_its_base(store, base_image, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {BASE_REFERENCE}\nENV CHILD={time.time_ns()}\n")
    for line in store.engine.client.build(path=str(tmp_path), tag="passhat-test-child:1", rm=True, decode=True):
        assert "error" not in line, line
    child = store.ensure_image(ImageSource(reference="passhat-test-child:1"))
    assert (child.digest, child.digest_kind) == (child.engine_id, "engine")
    assert child.digest != base_image.digest


@pytest.mark.parametrize("by", ["tag", "digest"])
def test_an_image_is_pulled_once_and_identified_by_the_registry(store, pushed, by, base_image):
    reference = pushed[0] if by == "tag" else pushed[1]
    assert store.images.find(reference) is None
    image = store.ensure_image(ImageSource(reference=reference))
    assert image.digest_kind == "registry"
    assert image.digest == pushed[1].partition("@")[2]
    assert store.ensure_image(ImageSource(reference=reference)) == image
    assert run(store, image, "cat", "/pushed").strip().isdigit()


def test_a_tag_that_the_registry_does_not_have(store, registry):
    with pytest.raises(ImageError, match="could not be pulled"):
        store.ensure_image(ImageSource(reference=f"{registry}/suite/task:none"))


def test_a_build_on_a_pulled_base_counts_the_registry_digest(store, pushed, context):
    tag, digest = pushed
    first = store.ensure_image(source(context, build_args={"BASE": tag}))
    second = store.ensure_image(source(context, build_args={"BASE": digest}))
    assert run(store, first, "cat", "/copy") == (context / "file").read_text()
    assert first.digest == second.digest


@pytest.fixture
def nodes(base_image, registry):
    """share(registry) -> a provider that shares by it; what it warns of is in its list `warned`."""
    with contextlib.ExitStack() as held:

        def share(address=registry):
            warned = []
            provider = held.enter_context(recording(registry=f"{address}/passhat", warn=warned.append))
            provider.warned = warned
            return provider

        yield share


def test_nodes_share_what_one_of_them_built(nodes, context):
    first, second = nodes(), nodes()
    built = first.ensure_image(source(context))
    words = run(first, built, "cat", "/copy")
    forget(first, built.reference)
    assert second.images.find(built.reference) is None
    with monkeypatched_build(second) as builds:
        shared = second.ensure_image(source(context))
    assert builds == []
    assert (shared.digest, shared.digest_kind, shared.engine_id) == (built.digest, "recipe", built.engine_id)
    assert run(second, shared, "cat", "/copy") == words
    assert (first.warned, second.warned) == ([], [])
    names = [name for image in second.engine.client.images() for name in image["RepoTags"] or ()]
    assert [name for name in names if "/passhat:" in name] == []


def test_the_base_travels_too_and_keeps_its_identity(nodes, registry, base_image):
    provider = nodes()
    shared = SharedImages(provider.engine, f"{registry}/passhat", provider.warned.append)
    shared.offer(BASE_REFERENCE)
    assert shared.fetch(BASE_REFERENCE, ARCHIVE_LABEL, None)
    assert provider.images.find(BASE_REFERENCE) == base_image
    assert provider.warned == []


def test_an_image_that_is_not_what_its_name_says_is_not_used(nodes, registry, context):
    provider = nodes()
    built = provider.ensure_image(source(context))
    client, tag = provider.engine.client, built.reference.replace(":", "-")
    client.tag(BASE_REFERENCE, f"{registry}/passhat", tag)
    assert not [
        line for line in client.push(f"{registry}/passhat", tag=tag, stream=True, decode=True) if "error" in line
    ]
    forget(provider, built.reference, f"{registry}/passhat:{tag}")
    again = provider.ensure_image(source(context))
    assert again.digest == built.digest
    assert "does not carry passhat.recipe=sha256:" in provider.warned[0]


def test_a_registry_that_does_not_answer_holds_nobody_up(nodes, context):
    provider = nodes("127.0.0.1:1")
    image = provider.ensure_image(source(context))
    assert run(provider, image, "cat", "/copy") == (context / "file").read_text()
    assert ["gave no passhat-built" in provider.warned[0], "could not be given" in provider.warned[1]] == [True, True]


def test_a_name_that_is_no_repository_is_refused(nodes):
    with pytest.raises(ImageError, match=r"HOST\[:PORT\]/NAME"):
        _ = nodes("Not A Host").images


@contextlib.contextmanager
def monkeypatched_build(provider):
    """What a provider's store builds meanwhile."""
    builds, store = [], provider.images
    build = store._build
    store._build = lambda *words: (builds.append(words), build(*words))
    yield builds
    store._build = build
