"""Files in a folder that somebody else writes to: property tests against a real file system."""

import contextlib
import io
import os
import tarfile
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandboxes import rootfs
from sandboxes.archive import entry_parts, folder_mode, is_system_link, pack, unpack
from sandboxes.base import FileEntry, TooLargeError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="writes files as other owners")

names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
links = st.lists(st.sampled_from(["a", "b", "c", "..", "outside"]), min_size=1, max_size=4)
targets = st.tuples(st.sampled_from(["", "/"]), links).map(lambda pair: pair[0] + "/".join(pair[1]))


@contextlib.contextmanager
def opened(folder):
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def plant(root: Path, path: str, target: str) -> None:
    place = root / path
    with contextlib.suppress(OSError, RuntimeError):
        if place.parent.resolve().is_relative_to(root.resolve()):
            place.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(target, place)


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(paths, targets), max_size=5), paths, st.booleans())
def test_no_arrangement_of_links_leads_out_of_the_root(planted, path, from_image):
    with tempfile.TemporaryDirectory() as base:
        root, outside = Path(base, "root"), Path(base, "outside")
        root.mkdir()
        outside.mkdir()
        (outside / "secret").write_text("secret")
        for place, target in planted:
            plant(root, place, target)
        with opened(root) as descriptor:
            with contextlib.suppress(Exception):
                rootfs.put(descriptor, [FileEntry(f"/{path}", b"new")], lambda _: not from_image)
            with contextlib.suppress(Exception):
                found = rootfs.get(descriptor, f"/{path}/secret", 10_000)
                assert all(entry.data != b"secret" for entry in found)
        assert tree(outside) == ["secret"]
        assert sorted(os.listdir(base)) == ["outside", "root"]


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(paths, st.binary(max_size=50), min_size=1, max_size=5))
def test_what_is_put_is_got(files):
    files = {path: data for path, data in files.items() if not any(other.startswith(path + "/") for other in files)}
    with tempfile.TemporaryDirectory() as base, opened(base) as descriptor:
        rootfs.put(descriptor, [FileEntry(f"/top/{path}", data) for path, data in files.items()], lambda _: True)
        found = rootfs.get(descriptor, "/top", 1_000_000)
        assert {entry.path: entry.data for entry in found if entry.data is not None} == {
            f"/top/{path}": data for path, data in files.items()
        }


def test_a_folder_swapped_for_a_link_all_the_time_leads_nowhere(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "logs").mkdir(parents=True)
    outside.mkdir()
    stop = threading.Event()

    def swap():
        place = root / "logs" / "verifier"
        while not stop.is_set():
            with contextlib.suppress(OSError):
                os.symlink(outside, place)
            with contextlib.suppress(OSError):
                place.unlink()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        with opened(root) as descriptor:
            for _ in range(300):
                with contextlib.suppress(Exception):
                    rootfs.put(descriptor, [FileEntry("/logs/verifier/x", b"1")], lambda _: True)
    finally:
        stop.set()
        thread.join()
    assert tree(outside) == []


def test_no_file_descriptor_is_left(tmp_path):
    with opened(tmp_path) as descriptor:
        before = len(os.listdir("/proc/self/fd"))
        rootfs.put(descriptor, [FileEntry("/a/b/c", b"1"), FileEntry("/l", link="l")], lambda _: True)
        rootfs.get(descriptor, "/a", 10_000)
        for call in (lambda: rootfs.get(descriptor, "/l/x", 10_000), lambda: rootfs.get(descriptor, "/a", 1)):
            with pytest.raises((OSError, ValueError)):
                call()
        assert len(os.listdir("/proc/self/fd")) == before


def test_system_links_only_where_the_distribution_has_them():
    assert is_system_link("/bin", "usr/bin")
    assert is_system_link("/lib64", "/usr/lib64")
    assert not is_system_link("/bin", "/tmp/evil")
    assert not is_system_link("/tests", "usr/tests")


@given(st.integers(0, 0o7777))
def test_a_folder_can_be_searched_by_its_readers(mode):
    for shift in (0, 3, 6):
        if mode >> shift & 4:
            assert folder_mode(mode) >> shift & 1
    assert folder_mode(mode) | 0o111 == mode | 0o111


@pytest.mark.parametrize("path", ["", "a", "/", "/..", "/a/../b", "/\0"])
def test_no_path(path):
    with pytest.raises(ValueError, match="no absolute path"):
        entry_parts(path)


def test_an_archive_keeps_entries():
    entries = [
        FileEntry("/top", mode=0o755),
        FileEntry("/top/file", b"1", mode=0o640, uid=3, gid=4),
        FileEntry("/top/link", link="file", mode=0o777),
    ]
    assert unpack(io.BytesIO(pack(entries)), "/top", 10_000) == entries


def test_an_archive_with_a_huge_body_is_refused_before_it_is_read():
    info = tarfile.TarInfo("huge")
    info.size = 1 << 40
    with pytest.raises(TooLargeError):
        unpack(io.BytesIO(info.tobuf(tarfile.GNU_FORMAT)), "/huge", 1_000_000)


def test_devices_and_names_that_climb_are_left_out():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind in (("art/dev", tarfile.CHRTYPE), ("art/pipe", tarfile.FIFOTYPE), ("../up", tarfile.REGTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            archive.addfile(info)
        archive.addfile(tarfile.TarInfo("art/ok"))
    buffer.seek(0)
    assert [entry.path for entry in unpack(buffer, "/art", 10_000)] == ["/art/ok"]
