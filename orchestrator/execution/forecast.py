"""What a sweep will do and what it can show, before anything starts: counts, hours, cost, fit, power, splits."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import numpy as np

from orchestrator.core.resolve import resolve
from orchestrator.core.waves import due_times
from orchestrator.execution.freeze import Frozen
from orchestrator.execution.rhythm import rhythm_of
from orchestrator.stats.designs import RatePool, budget
from orchestrator.stats.planning import Noise, normal_power, simulated_power, smallest_difference
from orchestrator.storage.earlier import Earlier, earlier_trials
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import trial_states

ASSUMED_BETWEEN = 1 / 9
ASSUMED_WITHIN = 1 / 6
SIMULATED_DIFFERENCE = 0.1


@dataclass(frozen=True, slots=True)
class Comparison:
    """A planned pair of arms, and what it can show. power: of the sign-flip test in use, for `difference`."""

    first: str
    second: str
    smallest_difference: float
    difference: float
    normal_power: float
    simulated_power: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Split:
    """One way to spend the same number of trials on this suite's tasks; se: of an arm's pass@1."""

    tasks: int
    repeats: int
    se: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """None: not known, because no earlier row tells. hours: with the machine's cores kept busy."""

    sweep_id: str
    arms: int
    tasks: int
    repeats: int
    waves: int
    trials: int
    settled: int
    hours: float | None
    cost_usd: float | None
    based_on_rows: int
    misfits: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    splits: tuple[Split, ...]
    due: tuple[str, ...]
    horizon: int | None
    notices: tuple[str, ...]


def forecast(frozen: Frozen, root: Root, cpus: int | None, memory_mb: float | None) -> Forecast:
    """Starts nothing and writes nothing."""
    plan = frozen.plan
    states = trial_states(root, plan.sweep_id) if plan.revision or _started(root, plan.sweep_id) else {}
    settled = sum(state.settled for state in states.values())
    seen = earlier_trials(root, plan.suite_digest)
    missing = plan.size - settled
    cores = cpus or os.cpu_count() or 1
    hours, cost = _cost(frozen, seen, missing, plan.size, cores)
    return Forecast(
        sweep_id=plan.sweep_id,
        arms=len(plan.arms),
        tasks=len(plan.task_digests),
        repeats=plan.repeats,
        waves=plan.waves,
        trials=plan.size,
        settled=settled,
        hours=hours,
        cost_usd=cost,
        based_on_rows=sum(e.trials for e in seen.values()),
        misfits=tuple(_misfits(frozen, cores, memory_mb)),
        comparisons=tuple(_comparisons(frozen, seen)),
        splits=tuple(_splits(frozen, seen)),
        due=tuple(f"{t:%Y-%m-%d %H:%M} UTC" for t in due_times(rhythm_of(frozen.config), _frozen_at(frozen))),
        horizon=plan.horizon,
        notices=frozen.notices,
    )


def _started(root: Root, sweep_id: str) -> bool:
    return root.exists(f"sweeps/{sweep_id}/plan.json")


def _frozen_at(frozen: Frozen) -> datetime:
    return datetime.fromisoformat(frozen.plan.created_at).astimezone(UTC)


def _cost(
    frozen: Frozen, seen: Mapping[tuple[str, str], Earlier], missing: int, size: int, cores: int
) -> tuple[float | None, float | None]:
    """Hours and USD of what is missing; None unless every agent has been seen on this suite."""
    seconds, usd = 0.0, 0.0
    usd_known = True
    for arm in frozen.plan.arms:
        earlier = seen.get((frozen.plan.agent_digests[arm.agent], arm.resources))
        if earlier is None:
            earlier = next((e for (agent, _), e in seen.items() if agent == frozen.plan.agent_digests[arm.agent]), None)
        if earlier is None:
            return None, None
        share = missing / size / len(frozen.plan.arms) * size
        promise = np.mean([_promise(frozen, task, arm.resources) for task in frozen.tasks])
        seconds += earlier.mean_s * share * float(promise) / cores
        if earlier.mean_usd is None:
            usd_known = usd_known and frozen.agents[arm.agent].model_name is None
        else:
            usd += earlier.mean_usd * share
    return seconds / 3600, usd if usd_known else None


def _promise(frozen: Frozen, task: str, resources: str) -> float:
    return resolve(frozen.tasks[task].asked, frozen.resources[resources]).cpus


def _misfits(frozen: Frozen, cores: int, memory_mb: float | None) -> list[str]:
    found = []
    there_mb = memory_mb if memory_mb is not None else _machine_mb()
    for setting in frozen.resources.values():
        for name, task in frozen.tasks.items():
            spec = resolve(task.asked, setting)
            if spec.cpus > cores:
                found.append(f"{name} under {setting.name}: {spec.cpus:g} cores promised, this machine has {cores}")
            elif spec.memory_mb > there_mb:
                found.append(
                    f"{name} under {setting.name}: {spec.memory_mb} MiB promised, this machine has {there_mb:.0f}"
                )
    return found


def _machine_mb() -> float:
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    return float(text.split()[1]) / 1024


def _comparisons(frozen: Frozen, seen: Mapping[tuple[str, str], Earlier]) -> list[Comparison]:
    """Every pair of arms that differ in their agent or in their resources alone."""
    plan, found = frozen.plan, []
    repeats = plan.repeats * plan.waves
    for a, b in combinations(plan.arms, 2):
        if (a.agent != b.agent) + (a.resources != b.resources) + (a.lane != b.lane) != 1:
            continue
        rates = [_rates(frozen, seen, arm.agent, arm.resources) for arm in (a, b)]
        tasks = len(plan.task_digests)
        first, second = rates
        power: float | None = None
        if first is not None and second is not None and len(first) >= 2 and len(first) == len(second):
            gap = abs(float(np.mean(first - second)))
            between = max(0.0, float(np.var(first - second, ddof=1)))
            within = (float(np.mean(first * (1 - first))), float(np.mean(second * (1 - second))))
            noise, source = Noise(between, *within), "rates of earlier rows"
            rng = np.random.default_rng(plan.seed)
            power = simulated_power(
                first, second, rng=rng, repeats_a=repeats, repeats_b=repeats, tasks=tasks, simulations=400
            ).power
        else:
            noise, source, gap = Noise(ASSUMED_BETWEEN, ASSUMED_WITHIN, ASSUMED_WITHIN), "assumed variances", 0.0
        difference = gap or SIMULATED_DIFFERENCE
        found.append(
            Comparison(
                a.name,
                b.name,
                smallest_difference(noise, tasks, repeats_a=repeats, repeats_b=repeats),
                difference,
                normal_power(noise, difference, tasks, repeats_a=repeats, repeats_b=repeats),
                power,
                source,
            )
        )
    return found


def _rates(
    frozen: Frozen, seen: Mapping[tuple[str, str], Earlier], agent: str, resources: str
) -> "np.ndarray[tuple[int], np.dtype[np.float64]] | None":
    earlier = seen.get((frozen.plan.agent_digests[agent], resources))
    if earlier is None or any(task not in earlier.rates for task in frozen.tasks):
        return None
    return np.array([earlier.rates[task] for task in frozen.tasks])


def _splits(frozen: Frozen, seen: Mapping[tuple[str, str], Earlier]) -> list[Split]:
    """The same trials per arm spent on more tasks or more repeats, by the error of pass@1."""
    tasks, repeats = len(frozen.plan.task_digests), frozen.plan.repeats * frozen.plan.waves
    known = [rate for earlier in seen.values() for rate in earlier.rates.values()]
    pool = RatePool.measured(known) if len(known) >= 10 else RatePool.beta(1.0, 1.0)
    choices = sorted({r for r in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, repeats) if tasks * repeats // r >= 2})
    designs = budget(pool, tasks * repeats, tasks_available=tasks, repeats=choices)
    return [Split(d.tasks, d.repeats, d.se) for d in designs if d.tasks <= tasks]
