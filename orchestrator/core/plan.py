"""The frozen plan: suite x arms x repeats x waves in a recorded random order. Pure.

Design. A plan holds what was decided (config, digests, seed), not the list of its trials: the list follows
from it. A trial's key hashes sweep id, task, arm, wave and repeat, so that adding repeats, waves, arms or
tasks to a started sweep leaves every existing key as it was, and resuming is a subtraction of keys. The
order within a block is the order of a keyed hash: random, reproducible from the seed on any machine, and
not disturbed by an extension.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arm:
    """One (agent, resources, lane) combination under comparison; all three are names."""

    agent: str
    resources: str
    lane: str = "live"

    @property
    def name(self) -> str:
        return f"{self.agent}/{self.resources}/{self.lane}"


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """One run of one arm on one task. `position` counts from 0 over the whole plan."""

    key: str
    task: str
    arm: Arm
    wave: int
    repeat: int
    position: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What was decided before anything started.

    `task_digests`, `agent_digests`: name to digest. `durations_s`: expected seconds by task, used by the
    order "longest_first" only. `config`: the sweep file as it was read, as plain JSON values.
    """

    sweep_id: str
    name: str
    created_at: str
    seed: int
    order: str
    repeats: int
    waves: int
    suite: str
    suite_version: str
    suite_digest: str
    arms: tuple[Arm, ...]
    task_digests: Mapping[str, str]
    agent_digests: Mapping[str, str]
    durations_s: Mapping[str, float]
    config: Mapping[str, object]
    passhat_version: str
    revision: int = 0
    horizon: int | None = None

    @property
    def size(self) -> int:
        return len(self.arms) * len(self.task_digests) * self.repeats * self.waves


def trial_key(sweep_id: str, task: str, arm: Arm, wave: int, repeat: int) -> str:
    """20 hexadecimal digits; the same for the same trial whatever else the plan holds."""
    text = "\0".join((sweep_id, task, arm.name, str(wave), str(repeat)))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def attempt_id(key: str, attempt: int) -> str:
    return f"{key}-{attempt}"


def trials(plan: Plan, wave: int | None = None) -> Iterator[TrialSpec]:
    """The trials in plan order: wave, then repeat, then random over arms and tasks within the block."""
    block_size = len(plan.arms) * len(plan.task_digests)
    for w in range(plan.waves):
        if wave is not None and w != wave:
            continue
        for repeat in range(plan.repeats):
            first = (w * plan.repeats + repeat) * block_size
            for offset, (task, arm) in enumerate(_block(plan, w, repeat)):
                key = trial_key(plan.sweep_id, task, arm, w, repeat)
                yield TrialSpec(key, task, arm, w, repeat, first + offset)


def _block(plan: Plan, wave: int, repeat: int) -> list[tuple[str, Arm]]:
    def rank(pair: tuple[str, Arm]) -> tuple[float, bytes]:
        task, arm = pair
        text = "\0".join((str(plan.seed), str(wave), str(repeat), task, arm.name))
        longest = -plan.durations_s.get(task, 0.0) if plan.order == "longest_first" else 0.0
        return longest, hashlib.blake2b(text.encode(), digest_size=8).digest()

    return sorted(((task, arm) for task in plan.task_digests for arm in plan.arms), key=rank)


def difference(old: Plan, new: Plan) -> tuple[list[str], list[str]]:
    """(what cannot be changed in a started sweep, what extends it), one sentence each."""
    refused: list[str] = []
    extends: list[str] = []
    for what, was, now in (
        ("seed", old.seed, new.seed),
        ("order", old.order, new.order),
        ("suite", old.suite, new.suite),
    ):
        if was != now:
            refused.append(f"{what} was {was!r} and is now {now!r}")
    for what, was_n, now_n in (("repeats", old.repeats, new.repeats), ("waves", old.waves, new.waves)):
        if now_n < was_n:
            refused.append(f"{what} was {was_n} and is now {now_n}; trials cannot be taken back")
        elif now_n > was_n:
            extends.append(f"{what}: {was_n} to {now_n}")
    gone = [arm.name for arm in old.arms if arm not in new.arms]
    added = [arm.name for arm in new.arms if arm not in old.arms]
    if gone:
        refused.append(f"arms no longer there: {', '.join(gone)}")
    if added:
        extends.append(f"new arms: {', '.join(added)}")
    for what, was_map, now_map in (
        ("task", old.task_digests, new.task_digests),
        ("agent", old.agent_digests, new.agent_digests),
    ):
        for name, digest in was_map.items():
            if name not in now_map:
                refused.append(f"{what} {name} is no longer there")
            elif now_map[name] != digest:
                refused.append(f"{what} {name} changed (digest {digest[:12]} is now {now_map[name][:12]})")
        fresh = sorted(set(now_map) - set(was_map))
        if fresh and what == "task":
            extends.append(f"new tasks: {', '.join(fresh)}")
    settings_was, settings_now = _resources(old), _resources(new)
    for name, setting in settings_was.items():
        if name in settings_now and settings_now[name] != setting:
            refused.append(f"resource setting {name} changed from {setting} to {settings_now[name]}")
    for key in ("timeout_multiplier", "default_agent_timeout_s"):
        if old.config.get(key) != new.config.get(key):
            refused.append(f"{key} was {old.config.get(key)} and is now {new.config.get(key)}")
    return refused, extends


def _resources(plan: Plan) -> dict[str, object]:
    listed = plan.config.get("resources", ())
    assert isinstance(listed, list | tuple)
    return {str(setting["name"]): setting for setting in listed}
