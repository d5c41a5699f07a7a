"""One scene per kind of fault: disturb a sweep, let it go on until it is done, and check what is there."""

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from sandboxes.docker import DockerProvider
from tests.faults.checking import Checked, check_left_over, check_rows
from tests.faults.engine import own_engine
from tests.faults.live import HANGING, LIVE, Harm, SmallDisk
from tests.faults.resting import DAMAGED, cut_journal
from tests.faults.running import Bench
from tests.faults.suite import SICK_KINDS, write_probe_suite, write_sick_suite, write_sweep

RUN_S = 150.0
MAX_RUNS = 40
EXPECTED = {"passes": frozenset({"PASSED"}), "fails": frozenset({"FAILED"})}
TIMED_OUT = frozenset({"AGENT_TIMEOUT", "GRADER_TIMEOUT"})
JUMPS_S = (86_400.0 * 3, -86_400.0 * 2, 3600.0 * 30)


def _bench(place: Path, repeats: int, pinned: bool = False) -> Bench:
    suite = write_probe_suite(place / "suite")
    results = place / "results"
    return Bench(write_sweep(place / "sweep.toml", suite, results, repeats, pinned=pinned), results)


def _finish(bench: Bench, checked: Checked) -> None:
    """Run again until all is settled."""
    for _ in range(MAX_RUNS):
        bench.start()
        code = bench.wait(RUN_S)
        if code == 0:
            return
        if code is None:
            checked.notes.append(f"a run did not end within {RUN_S:g} s")
            checked.wrong += 1
            return
    tail = bench.log.read_text(errors="replace").strip().splitlines()[-1:]
    checked.notes.append(f"not done after {MAX_RUNS} runs: {tail}")


def live(kind: str, harm: Harm, injections: int, place: Path, provider: DockerProvider, rng: random.Random) -> Checked:
    """Harm at random moments; a run that dies of it is started again."""
    checked = Checked()
    bench = _bench(place, repeats=max(2, injections // 4), pinned=kind == "holder of cores killed")
    give_up = time.monotonic() + 120.0 + injections * 15.0
    bench.start()
    while checked.injected < injections and time.monotonic() < give_up:
        if not bench.running():
            if bench.run is not None and bench.run.returncode == 0:
                break
            bench.start()
        if not bench.containers(provider):
            time.sleep(0.1)
            continue
        time.sleep(rng.uniform(0.0, 1.2))
        checked.injected += harm(bench, provider, rng)
    if bench.running():
        bench.wait(RUN_S)
    _finish(bench, checked)
    allowed = {agent: ends | (TIMED_OUT if kind in HANGING else frozenset()) for agent, ends in EXPECTED.items()}
    check_rows(bench.results, allowed, checked)
    check_left_over(bench, provider, checked)
    return checked


def engine_restarted(_: str, injections: int, place: Path, provider: DockerProvider, rng: random.Random) -> Checked:
    """An engine of our own is ended, by turns politely and by kill -9, and started again some seconds later."""
    checked = Checked()
    with own_engine(provider) as engine, DockerProvider(engine.url) as its_provider:
        bench = _bench(place, repeats=max(4, injections * 2))
        bench.environment = {"DOCKER_HOST": engine.url}
        bench.start()
        while checked.injected < injections:
            if not bench.running():
                if bench.run is not None and bench.run.returncode == 0:
                    break
                bench.start()
            if not bench.containers(its_provider):
                time.sleep(0.1)
                continue
            time.sleep(rng.uniform(0.0, 1.2))
            engine.end(signal.SIGKILL if checked.injected % 2 else signal.SIGTERM)
            its_provider.close()
            time.sleep(rng.uniform(0.5, 6.0))
            engine.start()
            checked.injected += 1
        if bench.running():
            bench.wait(RUN_S)
        _finish(bench, checked)
        check_rows(bench.results, EXPECTED, checked)
        check_left_over(bench, its_provider, checked)
        return checked


def full_disk(_: str, injections: int, place: Path, provider: DockerProvider, rng: random.Random) -> Checked:
    checked = Checked()
    bench = _bench(place, repeats=max(2, injections))
    disk = SmallDisk(bench.results)
    try:
        if not disk.mounted:
            checked.notes.append("no tmpfs can be mounted here: not injected")
            return checked
        bench.start()
        while checked.injected < injections:
            if not bench.running():
                bench.start()
            if not bench.containers(provider):
                time.sleep(0.1)
                if bench.run is not None and bench.run.poll() == 0:
                    break
                continue
            time.sleep(rng.uniform(0.0, 1.0))
            disk.fill()
            checked.injected += 1
            bench.wait(RUN_S)
            disk.free()
        _finish(bench, checked)
        check_rows(bench.results, EXPECTED, checked)
        check_left_over(bench, provider, checked)
        return checked
    finally:
        disk.close()


def journal_cut(_: str, injections: int, place: Path, provider: DockerProvider, rng: random.Random) -> Checked:
    checked = Checked()
    bench = _bench(place, repeats=max(2, injections))
    while checked.injected < injections:
        bench.start()
        while bench.running() and not bench.containers(provider):
            time.sleep(0.1)
        time.sleep(rng.uniform(0.3, 2.5))
        if not bench.running():
            break
        bench.kill_driver()
        checked.injected += cut_journal(bench.results, rng)
    _finish(bench, checked)
    check_rows(bench.results, EXPECTED, checked)
    check_left_over(bench, provider, checked)
    return checked


def damaged_file(kind: str, injections: int, place: Path, provider: DockerProvider, rng: random.Random) -> Checked:
    """A file that cannot be read must stop a run with its name; taken away, what it held is run again."""
    checked = Checked()
    bench = _bench(place, repeats=1)
    _finish(bench, checked)
    for _ in range(injections):
        path = DAMAGED[kind](bench.results, rng)
        if path is None:
            break
        checked.injected += 1
        bench.log.write_bytes(b"")
        bench.start()
        code = bench.wait(RUN_S)
        if code == 0 or path.name not in bench.log.read_text(errors="replace"):
            checked.wrong += 1
            checked.notes.append(f"{path.name} was passed over")
        path.unlink()
        _finish(bench, checked)
    check_rows(bench.results, EXPECTED, checked)
    check_left_over(bench, provider, checked)
    return checked


def clock_jump(_: str, injections: int, place: Path, provider: DockerProvider, rng: random.Random) -> Checked:
    checked = Checked()
    bench = _bench(place, repeats=max(2, injections * 2))
    for number in range(injections):
        bench.jump_s = JUMPS_S[number % len(JUMPS_S)]
        bench.start()
        while bench.running() and not bench.containers(provider):
            time.sleep(0.1)
        time.sleep(rng.uniform(5.0, 7.0))
        checked.injected += 1
        if bench.running() and number < injections - 1:
            bench.kill_driver()
    if bench.running():
        bench.wait(RUN_S)
    _finish(bench, checked)
    check_rows(bench.results, EXPECTED, checked)
    check_left_over(bench, provider, checked)
    return checked


def sick_task(kind: str, injections: int, place: Path, provider: DockerProvider, _: random.Random) -> Checked:
    """Every attempt meets the fault; the retries are used up and the last attempt's status stands."""
    checked = Checked()
    suite, results = write_sick_suite(place / "suite", kind), place / "results"
    repeats = max(1, injections // 4)
    bench = Bench(write_sweep(place / "sweep.toml", suite, results, repeats, retries=1), results)
    bench.start()
    code = bench.wait(RUN_S)
    if code != 1:
        checked.wrong += 1
        checked.notes.append(f"exit code {code} where 1 is promised")
    checked.injected = 4 * repeats
    only = frozenset({SICK_KINDS[kind]})
    check_rows(results, {"passes": only, "fails": only}, checked)
    check_left_over(bench, provider, checked)
    return checked


Scene = Callable[[str, int, Path, DockerProvider, random.Random], Checked]


def _live(kind: str, injections: int, place: Path, provider: DockerProvider, rng: random.Random) -> Checked:
    return live(kind, LIVE[kind], injections, place, provider, rng)


SCENES: dict[str, Scene] = {
    **dict.fromkeys(LIVE, _live),
    "engine stopped and started": engine_restarted,
    "results disk full": full_disk,
    "journal cut": journal_cut,
    **dict.fromkeys(DAMAGED, damaged_file),
    "clock jumps": clock_jump,
    **dict.fromkeys(SICK_KINDS, sick_task),
}
# How much of all injections falls on a kind: what restarts everything is dear, what hits one trial is cheap.
WEIGHTS = {
    **dict.fromkeys(SCENES, 8),
    **dict.fromkeys(("worker killed", "holder of cores killed"), 16),
    **dict.fromkeys(("container removed", "container stopped"), 24),
    **dict.fromkeys(("exec hangs", "container paused"), 12),
    **dict.fromkeys(("driver killed", "engine stopped and started", "results disk full", "journal cut"), 6),
    **dict.fromkeys(("raylet killed", "clock jumps"), 4),
    **dict.fromkeys(DAMAGED, 4),
}
