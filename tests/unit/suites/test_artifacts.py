"""Artifacts of a hostile container: what is taken, what is dropped, and where it goes."""

import pytest

from sandboxes.base import FileEntry, ImageSource, SandboxRequest
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from sandboxes.resources import Placement, ResourceSpec
from suites.artifacts import collect, put_back, safe_entries
from suites.task import ArtifactSpec, CollectHook, Grading, Step


def place(exit_code: int = 0) -> FakeSandbox:
    provider = FakeProvider(lambda *_: answered(exit_code))
    image = provider.ensure_image(ImageSource(reference="x:1"))
    return provider.create(SandboxRequest(image, ResourceSpec(), Placement(), {}, 60.0))


def step(*artifacts: ArtifactSpec) -> Step:
    return Step("", "", Grading(), artifacts=artifacts)


@pytest.mark.parametrize(
    ("path", "link", "kept"),
    [
        ("/a/x", "y", True),
        ("/a/x", "sub/../y", True),
        ("/a/x", "/etc/passwd", False),
        ("/a/x", "../../etc/passwd", False),
        ("/a/x", "x", False),
        ("/a/../b", None, False),
        ("/b", None, False),
        ("/ab", None, False),
    ],
)
def test_only_what_stays_below_the_artifact_is_kept(path: str, link: str | None, kept: bool) -> None:
    entry = FileEntry(path, data=None if link else b"", link=link)
    found, dropped = safe_entries([FileEntry("/a"), FileEntry("/a/sub"), entry], "/a")
    assert (entry in found, path in dropped) == (kept, not kept)


def test_a_link_through_another_link_cannot_leave() -> None:
    hop = FileEntry("/a/hop", link="sub/up")
    up = FileEntry("/a/sub/up", link="../..")
    through = FileEntry("/a/hop/file", data=b"")
    kept, dropped = safe_entries([FileEntry("/a"), FileEntry("/a/sub"), up, hop, through], "/a")
    assert {entry.path for entry in kept} == {"/a", "/a/sub"}
    assert set(dropped) == {"/a/hop", "/a/sub/up", "/a/hop/file"}


def test_a_folder_takes_the_place_of_the_one_that_was_there() -> None:
    agents, graders = place(), place()
    agents.put([FileEntry("/lib/new.py", b"new", mode=0o4600), FileEntry("/lib/skip.pyc", b"")])
    graders.put([FileEntry("/lib/old.py", b"old"), FileEntry("/other", b"o")])
    taken = collect(agents, step(ArtifactSpec("/lib", exclude=("*.pyc",))), Grading())
    put_back(graders, taken)
    assert set(graders.files) == {"/lib", "/lib/new.py", "/other"}
    assert graders.files["/lib/new.py"].mode == 0o644
    assert taken.flags == ()


def test_a_file_goes_to_its_destination() -> None:
    agents, graders = place(), place()
    agents.put([FileEntry("/out/a.txt", b"a")])
    put_back(graders, collect(agents, step(ArtifactSpec("/out/a.txt", "/in/b.txt")), Grading()))
    assert graders.read("/in/b.txt") == b"a"


def test_what_cannot_be_taken_is_a_flag_and_no_error() -> None:
    sandbox = place()
    sandbox.put([FileEntry("/big", b"x" * 10_000), FileEntry("/link", link="/big")])
    specs = (ArtifactSpec("/none"), ArtifactSpec("/big"), ArtifactSpec("/link"), ArtifactSpec("/x", service="db"))
    taken = collect(sandbox, step(*specs), Grading(), max_bytes=5_000)
    assert taken.entries == ()
    assert [flag.split(" ")[0] for flag in taken.flags] == ["artifact:/none", "artifact:/big", "artifact:/link"]


def test_nothing_declared_calls_nothing() -> None:
    sandbox = place()
    sandbox.gone = True
    put_back(sandbox, collect(sandbox, step(), Grading()))


def test_a_failing_collect_hook_is_a_flag() -> None:
    sandbox = place(exit_code=3)
    taken = collect(sandbox, step(), Grading(collect=(CollectHook("make dump", user="u", timeout_s=5.0),)))
    assert "make dump" in taken.flags[0]
    assert (sandbox.commands[0].user, sandbox.commands[0].timeout_s) == ("u", 5.0)
