"""What an agent changed outside its work folder, and what of it keeps a row out of the score."""

import pytest

from orchestrator.core.tampering import MAX_FLAGS, inspect_changes

SUSPECT = [
    ("/usr/bin/python3", "changed"),
    ("/usr/bin/python3.12", "added"),
    ("/usr/local/bin/pytest", "added"),
    ("/bin/sh", "changed"),
    ("/usr/bin/obscure", "changed"),
    ("/usr/bin/obscure", "deleted"),
    ("/etc/profile", "changed"),
    ("/etc/profile.d/x.sh", "added"),
    ("/etc/ld.so.preload", "added"),
    ("/root/.bashrc", "changed"),
    ("/home/u/.profile", "added"),
    ("/usr/lib/python3/dist-packages/sitecustomize.py", "added"),
    ("/usr/lib/python3/site-packages/evil.pth", "added"),
    ("/usr/lib/x86_64-linux-gnu/libc.so.6", "changed"),
]
FLAGGED = [
    ("/usr/bin/ripgrep", "added"),
    ("/usr/lib/python3/dist-packages/requests/api.py", "added"),
    ("/etc/hosts.allow", "added"),
    ("/opt/tool", "added"),
]
QUIET = [
    ("/tmp/anything", "added"),
    ("/etc/hosts", "changed"),
    ("/usr/lib/python3/__pycache__/x.pyc", "added"),
    ("/home/u/notes.txt", "added"),
    ("/logs/agent/out", "added"),
]


@pytest.mark.parametrize(("path", "kind"), SUSPECT)
def test_what_a_grader_runs_through_makes_the_row_suspect(path: str, kind: str) -> None:
    assert inspect_changes([(path, kind)], ["/app"]) == ([f"{kind}:{path}"], True)


@pytest.mark.parametrize(("path", "kind"), FLAGGED)
def test_an_installation_is_flagged_and_not_suspect(path: str, kind: str) -> None:
    assert inspect_changes([(path, kind)], ["/app"]) == ([f"{kind}:{path}"], False)


@pytest.mark.parametrize(("path", "kind"), QUIET)
def test_what_any_run_changes_is_passed_over(path: str, kind: str) -> None:
    assert inspect_changes([(path, kind)], ["/app"]) == ([], False)


def test_the_agents_own_folder_is_its_own_also_below_a_system_folder() -> None:
    assert inspect_changes([("/opt/work/x", "added")], ["/opt/work"]) == ([], False)
    assert inspect_changes([("/opt/workshop", "added")], ["/opt/work/"]) == (["added:/opt/workshop"], False)
    assert inspect_changes([("/opt/work/conftest.py", "added")], ["/opt/work"])[1]


def test_flags_are_bounded_with_the_suspect_ones_first() -> None:
    many = [(f"/opt/x{i}", "added") for i in range(MAX_FLAGS + 7)]
    flags, suspect = inspect_changes([*many, ("/bin/sh", "changed")], [])
    assert suspect
    assert flags[0] == "changed:/bin/sh"
    assert len(flags) == MAX_FLAGS + 1
    assert flags[-1] == "changes_not_listed:8"
