"""A short part of the faults; `python -m tests.faults` injects all kinds, many times."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes.docker import DockerProvider
from tests.faults.model import paid_model
from tests.faults.scenes import SCENES, Stage

pytestmark = [pytest.mark.docker, pytest.mark.ray, pytest.mark.slow]
SHORT = {
    "worker killed": 2,
    "grader writes NaN": 2,
}


@pytest.fixture(scope="module")
def provider() -> Iterator[DockerProvider]:
    made = DockerProvider()
    yield made
    made.close()


@pytest.mark.parametrize("kind", SHORT)
def test_each_trial_is_there_once_and_nothing_is_left(kind: str, tmp_path: Path, provider: DockerProvider) -> None:
    with paid_model() as paid:
        stage = Stage(tmp_path, provider, random.Random(f"short {kind}"), paid)
        checked = SCENES[kind](kind, SHORT[kind], stage)
    assert checked.injected > 0 or checked.notes
    assert (checked.lost, checked.doubled, checked.leaked, checked.wrong, checked.notes) == (0, 0, 0, 0, [])
