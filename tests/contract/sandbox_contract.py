"""What every sandbox promises, as one class that each implementation's tests inherit."""

import time
from collections.abc import Iterator

import pytest

from sandboxes.base import (
    Command,
    FileEntry,
    ImageSource,
    PathMissingError,
    Sandbox,
    SandboxGoneError,
    SandboxProvider,
    SandboxRequest,
    TooLargeError,
)
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot

SPEC = ResourceSpec(memory_mb=128, memory_limit_mb=256, pids_limit=200)


def request_for(image: ImageSnapshot, **changes: object) -> SandboxRequest:
    fields: dict[str, object] = {
        "image": image,
        "resources": SPEC,
        "placement": Placement(),
        "labels": {"passhat.sweep": "contract", "passhat.attempt": "a1"},
        "deadline_s": 300.0,
        "env": {"FROM_REQUEST": "yes"},
    }
    return SandboxRequest(**{**fields, **changes})


class SandboxContract:
    """Needs a fixture `provider` and an image that runs cat, printf, sleep, env and head."""

    image_source = ImageSource(reference="passhat-base:bookworm")

    @pytest.fixture
    def image(self, provider: SandboxProvider) -> ImageSnapshot:
        return provider.ensure_image(self.image_source)

    @pytest.fixture
    def sandbox(self, provider: SandboxProvider, image: ImageSnapshot) -> Iterator[Sandbox]:
        sandbox = provider.create(request_for(image))
        yield sandbox
        sandbox.remove()

    def test_ids_differ(self, provider, image, sandbox):
        other = provider.create(request_for(image))
        try:
            assert other.sandbox_id != sandbox.sandbox_id
        finally:
            other.remove()

    def test_an_image_is_the_same_twice(self, provider, image):
        assert provider.ensure_image(self.image_source) == image

    def test_the_host_is_the_same_twice(self, provider):
        assert provider.host().host_id == provider.host().host_id

    def test_a_command_that_succeeds(self, sandbox):
        result = sandbox.exec(Command(("printf", "hello")))
        assert (result.exit_code, result.stdout.data, result.stderr.data) == (0, b"hello", b"")
        assert not result.timed_out
        assert result.duration_s >= 0

    def test_a_failing_command_is_a_result(self, sandbox):
        result = sandbox.exec(Command(("cat", "/no/such/file")))
        assert result.exit_code == 1
        assert b"No such file" in result.stderr.data
        assert result.stdout.data == b""

    def test_a_program_that_is_not_there(self, sandbox):
        result = sandbox.exec(Command(("no-such-program",)))
        assert result.exit_code in (126, 127)
        assert b"no-such-program" in result.stderr.data
        assert result.stdout.data == b""

    def test_a_timeout_has_no_exit_code(self, sandbox):
        started = time.monotonic()
        result = sandbox.exec(Command(("sleep", "60"), timeout_s=0.3))
        assert result.exit_code is None
        assert result.timed_out
        assert time.monotonic() - started < 30
        assert sandbox.exec(Command(("printf", "still here"))).stdout.data == b"still here"

    def test_environment_is_added(self, sandbox):
        lines = sandbox.exec(Command(("env",), env={"MINE": "a b"})).stdout.text().splitlines()
        assert "MINE=a b" in lines
        assert "FROM_REQUEST=yes" in lines

    def test_a_clean_environment_has_only_what_is_given(self, sandbox):
        given = {"PATH": "/usr/bin:/bin", "HOME": "/x", "MINE": "1"}
        lines = sandbox.exec(Command(("env",), env=given, clean_env=True)).stdout.text().splitlines()
        assert sorted(lines) == sorted(f"{name}={value}" for name, value in given.items())

    def test_output_is_bounded_at_both_ends(self, sandbox):
        result = sandbox.exec(Command(("head", "-c", "5000", "/dev/zero"), max_output_bytes=100))
        assert (result.stdout.head, result.stdout.tail) == (bytes(50), bytes(50))
        assert result.stdout.dropped_bytes == 4900
        assert b"4900 bytes dropped" in result.stdout.data

    def test_put_makes_parents_and_get_reads_back(self, sandbox):
        entries = [
            FileEntry("/logs/verifier", mode=0o777),
            FileEntry("/deep/er/file.txt", b"text\n", mode=0o600, uid=7, gid=8),
            FileEntry("/deep/run.sh", b"#!/bin/sh\n", mode=0o755),
            FileEntry("/deep/link", link="er/file.txt"),
        ]
        sandbox.put(entries)
        found = {entry.path: entry for entry in sandbox.get("/deep")}
        assert list(found) == sorted(found)
        assert set(found) == {"/deep", "/deep/er", "/deep/er/file.txt", "/deep/run.sh", "/deep/link"}
        file = found["/deep/er/file.txt"]
        assert (file.data, file.mode, file.uid, file.gid) == (b"text\n", 0o600, 7, 8)
        assert found["/deep/run.sh"].mode == 0o755
        assert (found["/deep/link"].link, found["/deep/link"].data) == ("er/file.txt", None)
        assert (found["/deep"].data, found["/deep"].link, found["/deep"].mode) == (None, None, 0o755)
        assert sandbox.get("/logs/verifier")[0].mode == 0o777

    def test_a_folder_can_be_searched_by_whoever_may_read_it(self, sandbox):
        sandbox.put([FileEntry("/plain")])
        assert sandbox.get("/plain")[0].mode == 0o755

    def test_put_is_seen_by_commands(self, sandbox):
        sandbox.put([FileEntry("/in/put", b"seen")])
        assert sandbox.exec(Command(("cat", "/in/put"))).stdout.data == b"seen"

    def test_put_replaces_files_links_and_folders_of_the_same_path(self, sandbox):
        sandbox.put([FileEntry("/p/a", b"old"), FileEntry("/p/b", link="/p/a"), FileEntry("/p/c/d", b"inside")])
        sandbox.put([FileEntry("/p/a", b"new"), FileEntry("/p/b", b"file"), FileEntry("/p/c", b"flat")])
        found = {entry.path: entry.data for entry in sandbox.get("/p")}
        assert found == {"/p": None, "/p/a": b"new", "/p/b": b"file", "/p/c": b"flat"}

    def test_putting_a_folder_that_exists_keeps_what_is_in_it(self, sandbox):
        sandbox.put([FileEntry("/kept/file", b"1")])
        sandbox.put([FileEntry("/kept", mode=0o700)])
        found = {entry.path: (entry.data, entry.mode) for entry in sandbox.get("/kept")}
        assert found == {"/kept": (None, 0o700), "/kept/file": (b"1", 0o644)}

    def test_a_link_where_a_folder_is_meant_is_replaced(self, sandbox):
        sandbox.put([FileEntry("/elsewhere/old", b"1"), FileEntry("/planted", link="/elsewhere")])
        sandbox.put([FileEntry("/planted/inner/file", b"2")])
        assert {entry.path for entry in sandbox.get("/planted")} == {
            "/planted",
            "/planted/inner",
            "/planted/inner/file",
        }
        assert {entry.path for entry in sandbox.get("/elsewhere")} == {"/elsewhere", "/elsewhere/old"}

    def test_names_of_all_kinds(self, sandbox):
        names = ["with space", "new\nline", "üml", b"\xff\xfe".decode(errors="surrogateescape"), "-dash"]
        sandbox.put([FileEntry(f"/names/{name}", name.encode(errors="surrogateescape")) for name in names])
        found = {entry.path: entry.data for entry in sandbox.get("/names")}
        del found["/names"]
        assert found == {f"/names/{name}": name.encode(errors="surrogateescape") for name in names}

    @pytest.mark.parametrize("path", ["relative", "/a/../b", "/", "/nul\0"])
    def test_paths_that_are_no_paths(self, sandbox, path):
        with pytest.raises(ValueError, match="absolute path"):
            sandbox.put([FileEntry(path, b"")])

    def test_a_path_that_is_missing(self, sandbox):
        with pytest.raises(PathMissingError, match="/no/such"):
            sandbox.get("/no/such/path")

    def test_get_stops_at_its_bound(self, sandbox):
        sandbox.put([FileEntry("/large/a", bytes(10_000)), FileEntry("/large/b", bytes(10_000))])
        with pytest.raises(TooLargeError, match="at most 15000 bytes"):
            sandbox.get("/large", max_bytes=15_000)
        assert len(sandbox.get("/large", max_bytes=40_000)) == 3

    def test_many_entries_count_too(self, sandbox):
        sandbox.put([FileEntry(f"/many/{number:04}", b"") for number in range(300)])
        with pytest.raises(TooLargeError):
            sandbox.get("/many", max_bytes=10_000)

    def test_nothing_to_kill(self, sandbox):
        assert sandbox.processes() == []
        assert sandbox.kill_processes() == 0

    def test_counters_are_numbers_or_none(self, sandbox):
        sandbox.exec(Command(("printf", "x")))
        counters = sandbox.counters()
        assert counters.oom_kills == 0
        assert counters.pids_limit_hits == 0
        assert counters.cpu_usage_s is not None
        assert counters.cpu_usage_s >= 0

    def test_effective_resources(self, sandbox):
        effective = sandbox.effective
        assert effective.memory_limit_bytes == 256 << 20
        assert effective.memory_swap_bytes == 256 << 20
        assert effective.cgroup_memory_limit_bytes == 256 << 20
        assert effective.pids_limit == 200
        assert effective.cpus_quota == 1.0
        assert effective.network == "none"

    def test_changed_paths_name_what_was_put(self, sandbox):
        sandbox.put([FileEntry("/fresh/file", b"1")])
        changes = {(change.path, change.kind) for change in sandbox.changed_paths()}
        assert ("/fresh/file", "added") in changes

    def test_removing_twice_is_fine_and_nothing_works_after(self, provider, image):
        sandbox = provider.create(request_for(image))
        sandbox.remove()
        sandbox.remove()
        calls = [
            lambda: sandbox.exec(Command(("true",))),
            lambda: sandbox.put([FileEntry("/x", b"")]),
            lambda: sandbox.get("/etc"),
            lambda: sandbox.kill_processes(),
            lambda: sandbox.processes(),
            lambda: sandbox.counters(),
            lambda: sandbox.changed_paths(),
        ]
        for call in calls:
            with pytest.raises(SandboxGoneError):
                call()
