"""From what a task asks for and a resource setting to concrete numbers: promise, limit and defaults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config import ResourceSetting
from orchestrator.core.resolve import DEFAULT_CPUS, DEFAULT_MEMORY_MB, resolve
from suites.task import Asked

TASK = Asked(cpus=2.0, memory_mb=1000, storage_mb=500, shm_mb=128, pids=200)


def setting(**fields: object) -> ResourceSetting:
    return ResourceSetting.model_validate({"name": "s", **fields})


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, {"cpus": 2.0, "cpus_limit": 2.0, "memory_mb": 1000, "memory_limit_mb": 1000, "pinned": False}),
        ({"headroom": 3.0}, {"cpus": 2.0, "cpus_limit": 6.0, "memory_mb": 1000, "memory_limit_mb": 3000}),
        ({"headroom": "uncapped"}, {"cpus": 2.0, "cpus_limit": None, "memory_limit_mb": None}),
        ({"headroom": 1.0005}, {"memory_limit_mb": 1000}),
        ({"pinned": True}, {"cpus": 2.0, "cpus_limit": 2.0, "pinned": True}),
        ({"pinned": True, "cpus": 1.5}, {"cpus": 2.0, "cpus_limit": 2.0}),
        ({"pinned": True, "headroom": "uncapped"}, {"cpus_limit": 2.0, "memory_limit_mb": None}),
        ({"memory_limit_mb": 4000, "headroom": 3.0}, {"memory_mb": 1000, "memory_limit_mb": 4000, "cpus_limit": 6.0}),
        ({"memory_limit_mb": "uncapped"}, {"memory_limit_mb": None, "cpus_limit": 2.0}),
        ({"cpus": 4.0, "memory_mb": 64}, {"cpus": 4.0, "cpus_limit": 4.0, "memory_mb": 64, "memory_limit_mb": 64}),
        ({"cpus_limit": "uncapped"}, {"cpus_limit": None}),
        ({"pids_limit": "uncapped"}, {"pids_limit": None}),
        ({}, {"pids_limit": 200, "disk_mb": 500, "shm_mb": 128, "swap_mb": 0}),
        ({"disk_mb": 9, "swap_mb": 7}, {"disk_mb": 9, "swap_mb": 7}),
    ],
)
def test_the_setting_is_relative_to_the_task_unless_it_is_absolute(
    fields: dict[str, object], found: dict[str, object]
) -> None:
    spec = resolve(TASK, setting(**fields))
    assert {name: getattr(spec, name) for name in found} == found


def test_a_task_that_asks_for_nothing_gets_the_defaults() -> None:
    spec = resolve(Asked(), setting())
    assert (spec.cpus, spec.memory_mb, spec.pids_limit, spec.shm_mb) == (DEFAULT_CPUS, DEFAULT_MEMORY_MB, 1024, 64)


@given(
    cpus=st.floats(0.1, 64),
    memory=st.integers(4, 10**6),
    headroom=st.floats(1, 50) | st.just("uncapped"),
    pinned=st.booleans(),
)
def test_a_limit_is_never_below_its_promise_and_pinned_cores_are_whole(
    cpus: float, memory: int, headroom: float | str, pinned: bool
) -> None:
    spec = resolve(Asked(cpus=cpus, memory_mb=memory), setting(headroom=headroom, pinned=pinned))
    assert spec.cpus >= cpus
    assert spec.cpus_limit is None or spec.cpus_limit >= spec.cpus
    assert spec.memory_limit_mb is None or spec.memory_limit_mb >= spec.memory_mb
    assert not pinned or spec.cpus == spec.cpus_limit == round(spec.cpus)
