"""Files into and out of containers whose contents are hostile."""

import pytest

from sandboxes.base import Command, FileEntry, ImageSource, PathMissingError, SandboxError, TooLargeError
from tests.contract.sandbox_contract import request_for
from tests.integration.sandboxes.engine import forget

pytestmark = pytest.mark.docker


def sh(sandbox, script):
    result = sandbox.exec(Command(("sh", "-c", script), timeout_s=60))
    assert result.exit_code == 0, result.stderr.text()
    return result.stdout.text()


@pytest.mark.parametrize("target", ["/etc", "../etc", "/proc/1/root/etc", "/nowhere"])
def test_a_planted_link_takes_no_file_elsewhere(sandbox, target):
    before = sh(sandbox, "ls /etc")
    sh(sandbox, f"mkdir -p /logs && ln -s {target} /logs/verifier")
    sandbox.put([FileEntry("/logs/verifier", mode=0o777), FileEntry("/logs/verifier/hosts", b"mine")])
    assert sh(sandbox, "ls /etc") == before
    assert sh(sandbox, "stat -c %F /logs/verifier; cat /logs/verifier/hosts") == "directory\nmine"


def test_a_link_at_the_top_and_links_in_a_chain(sandbox):
    sh(sandbox, "mkdir /real && ln -s /real /tests && ln -s /tests /chain")
    sandbox.put([FileEntry("/tests/test.sh", b"1"), FileEntry("/chain/inner/file", b"2")])
    assert sh(sandbox, "ls /real") == ""
    assert sh(sandbox, "cat /tests/test.sh /chain/inner/file") == "12"


@pytest.mark.parametrize("plant", ["mkfifo {}", "mkdir -p {}/full/of/things", "touch {}", "ln -s {} {}"])
def test_whatever_is_in_the_place_of_a_file_is_replaced(sandbox, plant):
    sh(sandbox, "mkdir -p /logs; " + plant.replace("{}", "/logs/reward.txt"))
    sandbox.put([FileEntry("/logs/reward.txt", b"fresh")])
    assert sh(sandbox, "stat -c %F /logs/reward.txt; cat /logs/reward.txt") == "regular file\nfresh"


@pytest.mark.parametrize("plant", ["mkfifo /spot", "echo text > /spot"])
def test_whatever_is_in_the_place_of_a_folder_is_replaced(sandbox, plant):
    sh(sandbox, plant)
    sandbox.put([FileEntry("/spot/file", b"fresh")])
    assert sh(sandbox, "cat /spot/file") == "fresh"


def test_links_of_the_distribution_are_followed(sandbox):
    sandbox.put([FileEntry("/bin/mine", b"#!/bin/sh\necho works\n", mode=0o755)])
    assert sh(sandbox, "readlink /bin; /usr/bin/mine") == "usr/bin\nworks\n"


def test_a_distribution_link_that_leads_elsewhere_is_planted(sandbox):
    sandbox.put([FileEntry("/var/run", link="/etc")])
    sandbox.put([FileEntry("/var/run/hosts", b"mine")])
    assert sandbox.get("/var/run")[0].link is None
    assert sandbox.get("/etc/hosts")[0].data != b"mine"


def test_links_that_came_with_the_image_are_followed(provider, tmp_path):
    (tmp_path / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\nRUN mkdir -p /srv/app && ln -s srv/app /app\n")
    image = provider.ensure_image(ImageSource(dockerfile_dir=str(tmp_path)))
    sandbox = provider.create(request_for(image))
    try:
        sandbox.put([FileEntry("/app/file", b"1")])
        assert sh(sandbox, "readlink /app; cat /srv/app/file") == "srv/app\n1"
        sh(sandbox, "rm /app && ln -s /etc /app")
        sandbox.put([FileEntry("/app/hosts", b"2")])
        assert sh(sandbox, "stat -c %F /app; cat /app/hosts") == "directory\n2"
    finally:
        sandbox.remove()
        forget(provider, image.reference)


def test_folders_of_others_keep_their_mode_and_owner(sandbox):
    sh(sandbox, "mkdir -m 1777 /shared && chown 5:6 /shared")
    sandbox.put([FileEntry("/shared/below/file", b"1", uid=5)])
    assert sh(sandbox, "stat -c '%a %u %g' /shared /shared/below") == "1777 5 6\n755 0 0\n"


def test_a_sparse_terabyte_is_refused_at_once(sandbox):
    sh(sandbox, "mkdir /art && truncate -s 1T /art/huge || truncate -s 200G /art/huge")
    with pytest.raises(TooLargeError, match="/art"):
        sandbox.get("/art", max_bytes=1_000_000)


def test_what_is_no_file_is_left_out_and_links_are_not_followed(sandbox):
    sh(sandbox, "mkdir /art && cd /art && mkfifo pipe && ln -s /etc/passwd out && ln -s loop loop && echo 1 > a")
    sh(sandbox, "cd /art && python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\"")
    found = {entry.path: (entry.data, entry.link) for entry in sandbox.get("/art")}
    assert found == {
        "/art": (None, None),
        "/art/a": (b"1\n", None),
        "/art/loop": (None, "loop"),
        "/art/out": (None, "/etc/passwd"),
    }


def test_hard_links_are_files(sandbox):
    sh(sandbox, "mkdir /art && echo 1 > /art/a && ln /art/a /art/b")
    assert [entry.data for entry in sandbox.get("/art")] == [None, b"1\n", b"1\n"]


def test_a_link_that_is_asked_for_is_a_link_and_links_on_the_way_stay_inside(sandbox):
    sh(sandbox, "mkdir /real && echo 1 > /real/file && ln -s /real /way && ln -s ../../../../etc/shadow /hidden")
    assert sandbox.get("/hidden")[0].link == "../../../../etc/shadow"
    assert sandbox.get("/way/file")[0].data == b"1\n"


def test_a_circle_of_links_is_a_missing_path(sandbox):
    sh(sandbox, "ln -s /b /a && ln -s /a /b")
    with pytest.raises((PathMissingError, SandboxError)):
        sandbox.get("/a/file")


def test_folders_nested_without_end_are_refused(sandbox):
    script = "import os\nos.mkdir('/art'); os.chdir('/art')\nfor i in range(600): os.mkdir('d'); os.chdir('d')"
    assert sandbox.exec(Command(("python3", "-c", script))).exit_code == 0
    with pytest.raises(TooLargeError):
        sandbox.get("/art", max_bytes=100_000)


def test_entries_without_number_are_refused(sandbox):
    sh(sandbox, "mkdir /art && cd /art && seq 5000 | xargs touch")
    with pytest.raises(TooLargeError):
        sandbox.get("/art", max_bytes=500_000)


def test_a_read_only_container_takes_files_where_it_has_memory(base_image, seen_from_the_host):
    sandbox = seen_from_the_host.create(request_for(base_image, read_only=True, tmpfs=("/tmp", "/logs")))
    try:
        sandbox.put([FileEntry("/logs/deep/file", b"1")])
        assert sh(sandbox, "cat /logs/deep/file") == "1"
        with pytest.raises(SandboxError, match="read-only"):
            sandbox.put([FileEntry("/opt/file", b"1")])
    finally:
        sandbox.remove()
