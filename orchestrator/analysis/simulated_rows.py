"""The rows of a simulation: what is drawn for one arm on one day, and how it stands in the columns of the schema."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import expit

from orchestrator.core.columns import SCHEMA_VERSION
from orchestrator.core.status import ORIGIN, Status
from orchestrator.storage.schema import trials_schema

if TYPE_CHECKING:
    from orchestrator.analysis.simulate import Arm, Simulation

Floats = NDArray[np.float64]


def attempts_of(simulation: "Simulation", arm: "Arm") -> pa.Table:
    """All attempts of one arm on one day, in the schema of trials."""
    return _table(simulation, arm, _draw(simulation, arm))


@dataclass(frozen=True, slots=True)
class _Draws:
    """One entry per attempt."""

    task: NDArray[np.int64]
    repeat: NDArray[np.int64]
    attempt: NDArray[np.int64]
    final: NDArray[np.bool_]
    status: NDArray[np.int64]
    node: NDArray[np.int64]
    cost: Floats
    seconds: Floats
    judge: NDArray[np.bool_]


_ORDER = tuple(Status)
_AT = {status: index for index, status in enumerate(_ORDER)}
_FAILURES = np.array([_AT[Status.SANDBOX_ERROR], _AT[Status.MODEL_ERROR], _AT[Status.GRADER_ERROR]])


def _stream(simulation: "Simulation", arm: "Arm") -> np.random.Generator:
    word = f"{simulation.truth.seed}/{arm.agent.name}/{arm.setting.name}/{arm.lane}/{arm.wave}"
    return np.random.default_rng(int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big"))


def _draw(simulation: "Simulation", arm: "Arm") -> _Draws:
    truth, rng = simulation.truth, _stream(simulation, arm)
    trials = truth.tasks * truth.repeats
    fails = rng.random((trials, truth.retry_max + 1)) < arm.setting.infrastructure
    failed_first = np.where(fails.all(axis=1), truth.retry_max + 1, np.argmin(fails, axis=1))
    attempts = np.minimum(failed_first, truth.retry_max) + 1
    trial = np.repeat(np.arange(trials), attempts)
    attempt = np.arange(len(trial)) - np.repeat(np.cumsum(attempts) - attempts, attempts)
    repeat, task = trial // truth.tasks, trial % truth.tasks
    node = rng.integers(0, truth.nodes, len(trial))
    rate = simulation.rates(arm.agent.name, arm.wave, lane=arm.lane)[task]
    rate = expit(np.log(rate / (1 - rate)) + simulation.node_effect[node]) if truth.node_sd else rate
    passed = rng.random(len(trial)) < rate
    killed = simulation.hungry[task] & (rng.random(len(trial)) < arm.setting.oom)
    status = np.where(passed, _AT[Status.PASSED], _AT[Status.FAILED])
    slow = ~passed & (rng.random(len(trial)) < 0.1)
    status = np.where(slow, _AT[Status.AGENT_TIMEOUT], status)
    status = np.where(killed, _AT[Status.OUT_OF_MEMORY], status)
    broken = fails[trial, attempt]
    status = np.where(broken, _FAILURES[rng.integers(0, len(_FAILURES), len(trial))], status)
    lenient = 1 - truth.judge_specificity + arm.agent.judge_leniency
    judge = rng.random(len(trial)) < np.where(status == _AT[Status.PASSED], truth.judge_sensitivity, lenient)
    cost = arm.agent.cost_usd * rng.lognormal(-0.125, 0.5, len(trial)) * np.where(broken, 0.3, 1.0)
    seconds = arm.agent.seconds * rng.lognormal(-0.08, 0.4, len(trial))
    final = attempt == attempts[trial] - 1
    return _Draws(task, repeat, attempt, final, status, node, cost, seconds, judge)


def _hexadecimal(prefix: str, numbers: NDArray[np.int64]) -> pa.Array:
    """Fixed-width keys made from a digest of the prefix and a number each."""
    head = hashlib.sha256(prefix.encode()).hexdigest()[:16]
    tail = pa.StringArray.from_buffers(
        len(numbers),
        pa.py_buffer(np.arange(0, 16 * (len(numbers) + 1), 16, dtype=np.int32).tobytes()),
        pa.py_buffer(numbers.astype(">u8").tobytes().hex().encode()),
    )
    return pc.binary_join_element_wise(pa.scalar(head), tail, "")


def _pick(values: list[str], codes: NDArray[np.int64]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values)).cast(pa.string())


def _table(simulation: "Simulation", arm: "Arm", draws: _Draws) -> pa.Table:
    columns = {**_constants(simulation, arm), **_identity(simulation, arm, draws), **_verdict(simulation, draws)}
    columns |= _readings(simulation, arm, draws)
    rows, arrays = len(draws.task), []
    for column in trials_schema():
        value = columns.get(column.name)
        if isinstance(value, pa.Array):
            arrays.append(value.cast(column.type))
        elif value is None:
            arrays.append(pa.nulls(rows, column.type))
        else:
            arrays.append(pa.repeat(pa.scalar(value, column.type), rows))
    return pa.Table.from_arrays(arrays, schema=trials_schema())


def _constants(simulation: "Simulation", arm: "Arm") -> dict[str, object]:
    truth = simulation.truth
    return {
        "schema_version": SCHEMA_VERSION,
        "sweep": simulation.sweep,
        "sweep_name": "simulated",
        "suite": truth.suite,
        "suite_version": "1",
        "suite_digest": _digest(f"{truth.suite}/{truth.tasks}/{truth.seed}"),
        "agent": arm.agent.name,
        "agent_kind": "command",
        "agent_digest": _digest(arm.agent.name),
        "resources": arm.setting.name,
        "lane": arm.lane,
        "arm": f"{arm.agent.name}/{arm.setting.name}/{arm.lane}",
        "wave": arm.wave,
        "day": truth.first_day + timedelta(days=arm.wave),
        "plan_seed": truth.seed,
        "plan_order": "blocked",
        "suspect": False,
        "grader": "tests+judge" if truth.judged else "tests",
        "grading_mode": "separate",
        "judge_version": "simulated-judge-1" if truth.judged else None,
        "headroom": arm.setting.headroom,
        "retry_max": truth.retry_max,
        "retry_backoff_s": 0.0,
        "timeout_multiplier": 1.0,
        "price_version": "simulated",
    }


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()


def _identity(simulation: "Simulation", arm: "Arm", draws: _Draws) -> dict[str, object]:
    truth = simulation.truth
    names = [f"task-{number:04d}" for number in range(truth.tasks)]
    clusters = [f"cluster-{number // truth.tasks_per_cluster:04d}" for number in range(truth.tasks)]
    prefix = f"{simulation.sweep}/{arm.agent.name}/{arm.setting.name}/{arm.lane}/{arm.wave}"
    key = _hexadecimal(prefix, draws.repeat * truth.tasks + draws.task)
    nodes = [f"node-{number}" for number in range(truth.nodes)]
    return {
        "task": _pick(names, draws.task),
        "task_digest": _pick([_digest(name) for name in names], draws.task),
        "task_cluster": _pick(clusters, draws.task),
        "repeat": pa.array(draws.repeat),
        "attempt": pa.array(draws.attempt),
        "final": pa.array(draws.final),
        "trial_key": key,
        "attempt_id": pc.binary_join_element_wise(key, pa.array(draws.attempt).cast(pa.string()), "-"),
        "plan_position": pa.array(draws.repeat * truth.tasks + draws.task),
        "node": _pick(nodes, draws.node),
        "snapshot_id": _pick([_digest(node)[:16] for node in nodes], draws.node),
        "host_id": _pick([_digest("host" + node)[:16] for node in nodes], draws.node),
    }


def _verdict(simulation: "Simulation", draws: _Draws) -> dict[str, object]:
    passed = draws.status == _AT[Status.PASSED]
    verdict = np.array([status.has_verdict for status in _ORDER])[draws.status]
    oom = draws.status == _AT[Status.OUT_OF_MEMORY]
    judge = pa.array(np.where(draws.judge, "pass", "fail"), mask=~verdict) if simulation.truth.judged else None
    return {
        "status": _pick([str(status) for status in _ORDER], draws.status),
        "origin": _pick([str(ORIGIN[status]) for status in _ORDER], draws.status),
        "passed": pa.array(passed, mask=~verdict),
        "score": pa.array(passed.astype(float), mask=~verdict),
        "judge_verdict": judge,
        "used_oom_kills": pa.array(oom.astype(np.int64)),
    }


def _readings(simulation: "Simulation", arm: "Arm", draws: _Draws) -> dict[str, object]:
    day = simulation.truth.first_day + timedelta(days=arm.wave)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    spread = 80_000 / max(1, len(draws.task))
    started = np.int64(midnight.timestamp() * 1e6) + (np.arange(len(draws.task)) * spread * 1e6).astype(np.int64)
    finished = np.minimum(
        started + (draws.seconds * 1e6).astype(np.int64), np.int64((midnight.timestamp() + 86_399) * 1e6)
    )
    turns = 1 + (draws.seconds // 6).astype(np.int64)
    return {
        "started_at": pa.array(started).cast(pa.timestamp("us", tz="UTC")),
        "finished_at": pa.array(finished).cast(pa.timestamp("us", tz="UTC")),
        "total_s": pa.array((finished - started) / 1e6),
        "agent_s": pa.array(draws.seconds * 0.9),
        "cost_usd": pa.array(draws.cost),
        "turns": pa.array(turns),
        "calls": pa.array(turns),
        "tokens_in": pa.array(turns * 900),
        "tokens_out": pa.array(turns * 150),
        "api_retries": pa.array(np.zeros(len(turns), dtype=np.int64)),
        "used_memory_peak_bytes": pa.array((draws.seconds * 4e6).astype(np.int64)),
    }
