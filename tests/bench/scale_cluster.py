"""1,000 nodes x 64 cores with agents that wait on the model 90% of the time: what saturates first.

The dispatch core is the real one, fed by a simulated clock: its events are those of 64,000 trials of ten simulated
minutes each, and its own processor time is what is measured. What the other parts cost for one event is measured
beside it on this machine (the driver's whole work for a trial, Ray's wait over many calls, the gateway for a
request), and set against how often each is asked. What is done for each event saturates when its share of one
process reaches 1. What is done for each turn of the driver's loop (two waits and a tick) does not: turns get longer
and take more events each, and cores stand idle for as long as a turn between two trials.
"""

import heapq
import time
from dataclasses import dataclass

import ray

from orchestrator.core.dispatch import Dispatcher, Job, Retire, Shape, Spawn, Start
from orchestrator.core.plan import Arm, TrialSpec
from orchestrator.execution.driver import TICK_S
from orchestrator.execution.ray_connection import connect
from tests.bench.models_bench import _gateway_rows

NODES, CORES = 1000, 64
TRIAL_S = 600.0
MODEL_SHARE = 0.9
MODEL_CALL_S = 20.0
"""A reply of some hundred tokens; 27 calls in a trial."""
ROUNDS = 3
GATEWAY = "the gateway: one process for all model requests"
TRIALS = "the driver: assignment, journal, row, transcript and commit of each trial"
NEXT_STEPS = {
    GATEWAY: "a gateway on each node, which share the sweep's budget and rate",
    TRIALS: "transcripts written on the nodes, so that only rows pass through the driver",
    "turn": "ends reported to a queue that the driver drains instead of a wait over all open calls, and what is"
    " wanted kept as counts that events change instead of a recount at each tick",
}
WAITING = (500, 1000, 2000)


@dataclass(frozen=True, slots=True)
class Dispatching:
    """Processor seconds of the dispatch core: of one tick and of one trial's end and next start."""

    trials: int
    tick_s: float
    event_s: float
    fill_s: float


def simulate(nodes: int = NODES, cores: int = CORES, rounds: int = ROUNDS, ticks: int = 20) -> Dispatching:
    """Fill all cores, then let `rounds` times as many trials end one after the other on a simulated clock."""
    slots, shape = nodes * cores, Shape(1.0, 2048)
    dispatcher = Dispatcher(float(slots), slots * 2048.0, surplus=1)
    arm = Arm("agent", "1x")
    dispatcher.add(
        Job(TrialSpec(f"{i:x}", f"task-{i % 500}", arm, 0, i // 500, i), shape) for i in range(slots * (rounds + 1))
    )
    begun = time.process_time()
    first = dispatcher.tick(0.0)
    running: list[tuple[float, int]] = []
    for action in first:
        assert isinstance(action, Spawn)
        for start in dispatcher.ready(action.worker):
            assert isinstance(start, Start)
            heapq.heappush(running, (TRIAL_S * (0.5 + (start.job.trial.position * 0.618) % 1.0), start.worker))
    fill_s = time.process_time() - begun
    ended, events_s, clock_s = 0, 0.0, 0.0
    begun = time.process_time()
    while running and ended < slots * rounds:
        clock_s, worker = heapq.heappop(running)
        ended += 1
        for action in dispatcher.ended(worker):
            if isinstance(action, Start):
                heapq.heappush(running, (clock_s + TRIAL_S, action.worker))
            else:
                assert isinstance(action, Retire)
    events_s = time.process_time() - begun
    begun = time.process_time()
    for number in range(ticks):
        dispatcher.tick(clock_s + number * TICK_S)
    return Dispatching(ended, (time.process_time() - begun) / ticks, events_s / ended, fill_s)


class Sleeper:
    """An actor that answers late, so that calls to it stay open."""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def wait_s(open_calls: int, turns: int = 20) -> float:
    """Processor seconds of one `ray.wait` over so many open calls, as the driver's poll makes it."""
    actor = ray.remote(Sleeper).options(num_cpus=0, max_concurrency=1).remote()
    refs = [actor.sleep.remote(600.0) for _ in range(open_calls)]
    ray.wait(refs, num_returns=1, timeout=0)
    begun = time.process_time()
    for _ in range(turns):
        ray.wait(refs, num_returns=1, timeout=0)
    spent = (time.process_time() - begun) / turns
    ray.kill(actor)
    return spent


def measure(driver_s_per_trial: float) -> dict[str, object]:
    """Costs, loads and shares by name, and the parts in the order in which they saturate."""
    dispatching = simulate()
    connect(None)
    try:
        waits = {count: wait_s(count) for count in WAITING}
    finally:
        ray.shutdown()
    per_call_s = (waits[WAITING[-1]] - waits[WAITING[0]]) / (WAITING[-1] - WAITING[0])
    request_s = next(row["value"] for row in _gateway_rows() if "processor time" in str(row["name"])) / 1000
    slots = NODES * CORES
    ends_per_s = slots / TRIAL_S
    requests_per_s = slots * MODEL_SHARE / MODEL_CALL_S
    shares = {
        GATEWAY: requests_per_s * request_s,
        TRIALS: ends_per_s * (driver_s_per_trial + dispatching.event_s),
    }
    ordered = dict(sorted(shares.items(), key=lambda item: -item[1]))
    turn_s = (2 * slots * per_call_s + dispatching.tick_s) / max(1e-9, 1.0 - shares[TRIALS])
    return {
        "slots": slots,
        "trial_ends_per_s": ends_per_s,
        "model_requests_per_s": requests_per_s,
        "dispatch_tick_ms": dispatching.tick_s * 1000,
        "dispatch_event_ms": dispatching.event_s * 1000,
        "dispatch_fill_s": dispatching.fill_s,
        "ray_wait_us_per_open_call": per_call_s * 1e6,
        "gateway_ms_per_request": request_s * 1000,
        "driver_ms_per_trial": driver_s_per_trial * 1000,
        "driver_turn_s": turn_s,
        "cores_idle_for_the_driver": turn_s / TRIAL_S,
        "share_of_one_process": ordered,
        "nodes_until_saturated": {name: int(NODES / share) for name, share in ordered.items()},
        "next_steps": NEXT_STEPS,
    }
