"""One scene per kind of fault: disturb a sweep, let it go on until it is done, and check what is there."""

import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandboxes.docker import DockerProvider
from tests.faults.checked import Checked
from tests.faults.checking import check_left_over, check_rows
from tests.faults.engine import own_engine
from tests.faults.live import HANGING, LIVE, SmallDisk
from tests.faults.model import Paid, check_secret, check_spent
from tests.faults.resting import DAMAGED, cut_journal
from tests.faults.running import Bench
from tests.faults.suite import SICK_KINDS, write_probe_suite, write_sick_suite, write_sweep

RUN_S = 600.0
MAX_RUNS = 40
MAX_STARTS = 3
"""How often Ray is started where a machine is too busy for it."""
EXPECTED = {"passes": frozenset({"PASSED"}), "fails": frozenset({"FAILED"}), "asks": frozenset({"PASSED"})}
TIMED_OUT = frozenset({"AGENT_TIMEOUT", "GRADER_TIMEOUT"})
JUMPS_S = (86_400.0 * 3, -86_400.0 * 2, 3600.0 * 30)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a scene is played: an empty folder, an engine, the moments' random numbers, and the model."""

    place: Path
    provider: DockerProvider
    rng: random.Random
    paid: Paid

    def bench(self, repeats: int, pinned: bool = False) -> Bench:
        """A sweep of six trials a repeat, not started yet."""
        suite = write_probe_suite(self.place / "suite")
        return self.bench_of(suite, repeats, retries=20, pinned=pinned)

    def bench_of(self, suite: Path, repeats: int, retries: int, pinned: bool = False) -> Bench:
        results = self.place / "results"
        sweep = write_sweep(self.place / "sweep.toml", suite, results, repeats, self.paid.url, retries, pinned)
        return Bench(sweep, results, environment={"ANTHROPIC_API_KEY": self.paid.key})

    def check(
        self,
        bench: Bench,
        checked: Checked,
        expected: Mapping[str, frozenset[str]] = EXPECTED,
        whole: bool = True,
        provider: DockerProvider | None = None,
    ) -> Checked:
        """All that must hold in the end. `whole` False: the fault took rows away that were paid for."""
        check_rows(bench.results, expected, checked)
        check_spent(bench.results, self.paid, checked, whole)
        check_secret(bench.results, self.paid, checked)
        check_left_over(bench, provider or self.provider, checked)
        return checked


def _finish(bench: Bench, checked: Checked) -> None:
    """Run again until all is settled."""
    if bench.run is not None and bench.run.poll() == 0:
        return
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


def live(kind: str, injections: int, stage: Stage) -> Checked:
    """Harm at random moments; a run that dies of it is started again."""
    checked = Checked()
    bench = stage.bench(repeats=max(2, injections // 4), pinned=kind == "holder of cores killed")
    give_up = time.monotonic() + 120.0 + injections * 15.0
    bench.start()
    while checked.injected < injections and time.monotonic() < give_up:
        if not bench.running():
            if bench.run is not None and bench.run.returncode == 0:
                break
            bench.start()
        if not bench.containers(stage.provider):
            time.sleep(0.1)
            continue
        time.sleep(stage.rng.uniform(0.0, 1.2))
        checked.injected += LIVE[kind](bench, stage.provider, stage.rng)
    if bench.running():
        bench.wait(RUN_S)
    _finish(bench, checked)
    allowed = {agent: ends | (TIMED_OUT if kind in HANGING else frozenset()) for agent, ends in EXPECTED.items()}
    return stage.check(bench, checked, allowed)


def engine_restarted(_: str, injections: int, stage: Stage) -> Checked:
    """An engine of our own is ended, by turns politely and by kill -9, and started again some seconds later."""
    checked = Checked()
    with own_engine(stage.provider) as engine, DockerProvider(engine.url) as its_provider:
        bench = stage.bench(repeats=max(4, injections * 2))
        bench.environment = {**bench.environment, "DOCKER_HOST": engine.url}
        bench.start()
        while checked.injected < injections:
            if not bench.running():
                if bench.run is not None and bench.run.returncode == 0:
                    break
                bench.start()
            if not bench.containers(its_provider):
                time.sleep(0.1)
                continue
            time.sleep(stage.rng.uniform(0.0, 1.2))
            engine.end(signal.SIGKILL if checked.injected % 2 else signal.SIGTERM)
            its_provider.close()
            time.sleep(stage.rng.uniform(0.5, 6.0))
            engine.start()
            checked.injected += 1
        if bench.running():
            bench.wait(RUN_S)
        _finish(bench, checked)
        return stage.check(bench, checked, provider=its_provider)


def full_disk(_: str, injections: int, stage: Stage) -> Checked:
    checked = Checked()
    bench = stage.bench(repeats=max(2, injections))
    disk = SmallDisk(bench.results)
    try:
        if not disk.mounted:
            checked.notes.append("no tmpfs can be mounted here: not injected")
            return checked
        bench.start()
        while checked.injected < injections:
            if not bench.running():
                bench.start()
            if not bench.containers(stage.provider):
                time.sleep(0.1)
                if bench.run is not None and bench.run.poll() == 0:
                    break
                continue
            time.sleep(stage.rng.uniform(0.0, 1.0))
            disk.fill()
            checked.injected += 1
            bench.wait(RUN_S)
            disk.free()
        _finish(bench, checked)
        return stage.check(bench, checked, whole=False)
    finally:
        disk.close()


def journal_cut(_: str, injections: int, stage: Stage) -> Checked:
    checked = Checked()
    bench = stage.bench(repeats=max(2, injections))
    while checked.injected < injections:
        bench.start()
        while bench.running() and not bench.containers(stage.provider):
            time.sleep(0.1)
        time.sleep(stage.rng.uniform(0.3, 2.5))
        if not bench.running():
            break
        bench.kill_driver()
        checked.injected += cut_journal(bench.results, stage.rng)
    _finish(bench, checked)
    return stage.check(bench, checked, whole=False)


def damaged_file(kind: str, injections: int, stage: Stage) -> Checked:
    """A file that cannot be read must stop a run with its name; taken away, what it held is run again."""
    checked = Checked()
    bench = stage.bench(repeats=1)
    _finish(bench, checked)
    for _ in range(injections):
        path = DAMAGED[kind](bench.results, stage.rng)
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
    return stage.check(bench, checked, whole=False)


def clock_jump(_: str, injections: int, stage: Stage) -> Checked:
    checked = Checked()
    bench = stage.bench(repeats=max(2, injections * 2))
    for number in range(injections):
        bench.jump_s = JUMPS_S[number % len(JUMPS_S)]
        bench.start()
        while bench.running() and not bench.containers(stage.provider):
            time.sleep(0.1)
        time.sleep(stage.rng.uniform(5.0, 7.0))
        checked.injected += 1
        if bench.running() and number < injections - 1:
            bench.kill_driver()
    if bench.running():
        bench.wait(RUN_S)
    _finish(bench, checked)
    return stage.check(bench, checked)


def sick_task(kind: str, injections: int, stage: Stage) -> Checked:
    """Every attempt meets the fault; the retries are used up and the last attempt's status stands."""
    checked = Checked()
    repeats = max(1, round(injections / 6))
    bench = stage.bench_of(write_sick_suite(stage.place / "suite", kind), repeats, retries=1)
    for _ in range(MAX_STARTS):
        bench.start()
        code = bench.wait(RUN_S)
        if "did not come up" not in bench.log.read_text(errors="replace"):
            break
        bench.log.write_bytes(b"")
    if code != 1:
        checked.wrong += 1
        checked.notes.append(f"exit code {code} where 1 is promised")
    checked.injected = 6 * repeats
    return stage.check(bench, checked, dict.fromkeys(EXPECTED, frozenset({SICK_KINDS[kind]})))


Scene = Callable[[str, int, Stage], Checked]
SCENES: dict[str, Scene] = {
    **dict.fromkeys(LIVE, live),
    "engine stopped and started": engine_restarted,
    "results disk full": full_disk,
    "journal cut": journal_cut,
    **dict.fromkeys(DAMAGED, damaged_file),
    "clock jumps": clock_jump,
    **dict.fromkeys(SICK_KINDS, sick_task),
}
# How much of all injections falls on a kind: what restarts everything is dear, what hits one trial is cheap.
WEIGHTS = {
    **dict.fromkeys(SICK_KINDS, 12),
    **dict.fromkeys(("container removed", "container stopped"), 24),
    **dict.fromkeys(("exec hangs", "container paused"), 8),
    **dict.fromkeys(("worker killed", "holder of cores killed"), 14),
    **dict.fromkeys(("driver killed", "results disk full", "journal cut"), 6),
    **dict.fromkeys(("engine stopped and started", "raylet killed", "clock jumps"), 4),
    **dict.fromkeys(DAMAGED, 3),
}
