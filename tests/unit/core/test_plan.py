"""A plan: the same trials in the same order wherever it is expanded, and a sound extension of itself."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.plan import Arm, attempt_id, difference, trials
from tests.unit.core.plans import make_plan

SIZES = st.fixed_dictionaries(
    {name: st.integers(1, 4) for name in ("tasks", "agents", "repeats", "waves")} | {"seed": st.integers(0, 2**40)}
)
GROWTH = st.fixed_dictionaries({name: st.integers(0, 2) for name in ("tasks", "agents", "repeats", "waves")})


@given(SIZES, GROWTH)
def test_an_extension_leaves_every_key_as_it_was(sizes: dict[str, int], growth: dict[str, int]) -> None:
    larger = sizes | {name: sizes[name] + more for name, more in growth.items()}
    before = {(t.task, t.arm, t.wave, t.repeat): t.key for t in trials(make_plan(**sizes))}
    after = {(t.task, t.arm, t.wave, t.repeat): t.key for t in trials(make_plan(**larger))}
    assert before.items() <= after.items()
    assert len(set(after.values())) == len(after)


@given(SIZES, st.sampled_from(["blocked", "longest_first"]))
def test_each_block_holds_every_task_and_arm_once(sizes: dict[str, int], order: str) -> None:
    plan = make_plan(**sizes, order=order)
    found = list(trials(plan))
    assert [t.position for t in found] == list(range(plan.size))
    blocks = Counter((t.wave, t.repeat, t.task, t.arm) for t in found)
    assert set(blocks.values()) == {1}
    size = len(plan.arms) * len(plan.task_digests)
    for start in range(0, len(found), size):
        assert len({(t.wave, t.repeat) for t in found[start : start + size]}) == 1


@given(SIZES)
def test_order_follows_from_the_seed_and_not_from_the_order_of_the_file(sizes: dict[str, int]) -> None:
    plan = make_plan(**sizes)
    turned = replace(
        plan,
        arms=tuple(reversed(plan.arms)),
        task_digests=dict(reversed(plan.task_digests.items())),
    )
    assert list(trials(plan)) == list(trials(turned))


@given(SIZES)
def test_waves_asked_for_one_by_one_are_the_whole(sizes: dict[str, int]) -> None:
    plan = make_plan(**sizes)
    assert [t for wave in range(plan.waves) for t in trials(plan, wave)] == list(trials(plan))


def test_another_seed_and_another_block_give_another_order() -> None:
    def order(seed: int, repeat: int) -> list[tuple[str, str]]:
        found = trials(make_plan(tasks=6, agents=3, seed=seed))
        return [(t.task, t.arm.name) for t in found if t.repeat == repeat]

    assert order(1, 0) != order(2, 0)
    assert order(1, 0) != order(1, 1)


def test_order_does_not_change_between_versions() -> None:
    assert [t.key for t in trials(make_plan(tasks=1, agents=2, repeats=1))] == [
        "fc80e3210cdac4c19f93",
        "ab977b1eb9de85200951",
    ]


def test_longest_first_puts_the_longest_tasks_first_within_each_block() -> None:
    plan = make_plan(tasks=3, order="longest_first", durations_s={"t0": 1.0, "t1": 9.0, "t2": 5.0})
    assert [t.task for t in trials(plan)] == ["t1", "t1", "t2", "t2", "t0", "t0"] * 2


def test_attempts_of_a_trial_have_ids_of_their_own() -> None:
    assert attempt_id("abc", 0) != attempt_id("abc", 1)
    assert attempt_id("abc", 1).startswith("abc")


OLD = make_plan(tasks=2, repeats=2, waves=2)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"seed": 8}, "seed was 7 and is now 8"),
        ({"order": "longest_first"}, "order"),
        ({"suite": "other"}, "suite was 'suite' and is now 'other'"),
        ({"repeats": 1}, "repeats was 2 and is now 1"),
        ({"waves": 1}, "waves was 2 and is now 1"),
        ({"arms": OLD.arms[:1]}, "arms no longer there: a1/1x/live"),
        ({"task_digests": {"t0": "digest-of-0"}}, "task t1 is no longer there"),
        ({"task_digests": {**OLD.task_digests, "t1": "changed"}}, "task t1 changed"),
        ({"agent_digests": {**OLD.agent_digests, "a0": "changed"}}, "agent a0 changed"),
        ({"config": {**OLD.config, "resources": [{"name": "1x", "headroom": 3.0}]}}, "resource setting 1x changed"),
        ({"config": {**OLD.config, "timeout_multiplier": 2.0}}, "timeout_multiplier was 1.0 and is now 2.0"),
    ],
)
def test_what_would_change_a_started_sweep_is_refused(changes: dict[str, object], word: str) -> None:
    refused, _ = difference(OLD, replace(OLD, **changes))
    assert len(refused) == 1
    assert word in refused[0]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"repeats": 5}, "repeats: 2 to 5"),
        ({"waves": 3}, "waves: 2 to 3"),
        ({"arms": (*OLD.arms, Arm("a0", "3x"))}, "new arms: a0/3x/live"),
        ({"task_digests": {**OLD.task_digests, "t9": "x"}}, "new tasks: t9"),
    ],
)
def test_what_only_adds_trials_extends_it(changes: dict[str, object], word: str) -> None:
    assert difference(OLD, replace(OLD, **changes)) == ([], [word])


def test_the_same_plan_is_no_difference() -> None:
    assert difference(OLD, make_plan(tasks=2, repeats=2, waves=2)) == ([], [])
