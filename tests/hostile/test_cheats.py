"""The quick cheats on the real engine; `python -m tests.hostile` runs all of them."""

from pathlib import Path

import pytest

from tests.hostile.attack import attack
from tests.hostile.cheats import LIBRARY, LOOKS, REWARD, TROJAN
from tests.hostile.tasks import write_answer_suite, write_library_suite

pytestmark = pytest.mark.docker
QUICK_LIBRARY = (
    "library-exit-0",
    "library-patch-runner",
    "library-frame-keys",
    "library-write-reward",
    "library-shadow",
)
QUICK_LOOKS = ("find-solution", "find-socket", "find-environment", "escape-mount", "escape-cgroup")


def test_no_cheat_on_a_secret_answer_passes_or_sees_what_it_must_not(tmp_path: Path) -> None:
    looks = {name: LOOKS[name] for name in QUICK_LOOKS}
    found = attack(
        write_answer_suite(tmp_path / "suite"), {**REWARD, **TROJAN, **looks}, tmp_path / "results", inline=True
    )
    assert len(found) == 2 * (len(REWARD) + len(TROJAN) + len(looks) + 1)
    assert [result for result in found if result.bad] == []


def test_no_hostile_library_passes(tmp_path: Path) -> None:
    cheats = {name: LIBRARY[name] for name in QUICK_LIBRARY}
    found = attack(write_library_suite(tmp_path / "suite"), cheats, tmp_path / "results", inline=True)
    assert len(found) == 2 * (len(cheats) + 1)
    assert [result for result in found if result.bad] == []
