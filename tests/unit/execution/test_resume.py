"""A sweep that is killed anywhere and run again holds the same trials as one that was not."""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.agents.settings import AgentDeps, NopSettings, OracleSettings, build_agent
from orchestrator.config import ResourceSetting, RetrySetting, SuiteSelection, SweepConfig
from orchestrator.execution.attempt import Place
from orchestrator.execution.freeze import facts, freeze
from orchestrator.execution.inline_cluster import InlineCluster
from orchestrator.execution.session import RunOptions, run_sweep
from orchestrator.execution.worker import Worker
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from sandboxes.base import Command, ExecResult, SandboxRequest
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from sandboxes.snapshot import HostReadings
from suites.task import Suite
from tests.unit.execution.scripted import make_task

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUITE = Suite("suite", "1", "d", Path("/nowhere"), tuple(make_task(f"t{n}") for n in range(3)))
CONFIG = SweepConfig(
    name="s",
    suite=SuiteSelection(path="x"),
    agents=(NopSettings(name="nop", kind="nop"), OracleSettings(name="oracle", kind="oracle")),
    resources=(ResourceSetting(name="1x"),),
    repeats=2,
    retry=RetrySetting(max=1, backoff_s=0.0),
)


class Killed(BaseException):
    """What stands for the process's end."""


def answer(sandbox: FakeSandbox, command: Command) -> ExecResult:
    if "test.sh" in " ".join(command.argv):
        sandbox.write("/logs/verifier/reward.txt", b"1")
    return answered()


def run(root: Root, deaths: Mapping[str, int]) -> None:
    """One call; `deaths` says after how many events of a kind, or containers ("create"), it dies."""
    left = dict(deaths)

    def count(event: str) -> None:
        left[event] = left.get(event, 10**9) - 1
        if left[event] < 0:
            raise Killed

    def create(request: SandboxRequest) -> None:
        count("create")

    frozen = freeze(CONFIG, SUITE, root, NOW)
    provider = FakeProvider(answer, fail_create=create)
    place = Place(provider, lambda _: None, HostReadings, "n1", now=lambda: NOW)
    worker = Worker(facts(frozen), place, partial(build_agent, deps=AgentDeps()), provider.host())
    run_sweep(frozen, root, lambda: InlineCluster(worker), RunOptions(), lambda e, _: count(e), now=lambda: NOW)


def kept(root: Root) -> list[dict[str, object]]:
    return [row for table in scan(root) for row in table.to_pylist()]


DEATHS = st.fixed_dictionaries({}, optional={kind: st.integers(0, 9) for kind in ("attempt", "create", "progress")})


@settings(deadline=None, max_examples=8)
@given(st.lists(DEATHS, max_size=3))
def test_a_resumed_sweep_equals_an_uninterrupted_one(deaths: list[dict[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Root(folder)
        for each in [*deaths, {}]:
            try:
                run(root, each)
            except Killed:
                continue
        rows = kept(root)
        trials = Counter((r["task"], r["arm"], r["repeat"]) for r in rows if r["final"])
        assert trials == Counter(
            (f"t{t}", f"{a}/1x/live", n) for t in range(3) for a in ("nop", "oracle") for n in (0, 1)
        )
        attempts = sorted((str(r["trial_key"]), int(str(r["attempt"]))) for r in rows)
        assert len(set(attempts)) == len(attempts)
        for key in {key for key, _ in attempts}:
            assert [n for k, n in attempts if k == key] == list(range(sum(k == key for k, _ in attempts)))
        assert {r["status"] for r in rows if not r["final"]} <= {"LOST"}


def test_nothing_is_run_that_is_settled(tmp_path: Path) -> None:
    root = Root(tmp_path)
    run(root, {})
    run(root, {"create": 0, "attempt": 0})
    assert len(kept(root)) == 12


def test_an_attempt_whose_controller_died_is_a_lost_row_that_uses_up_no_retry(tmp_path: Path) -> None:
    root = Root(tmp_path)
    for _ in range(4):
        try:
            run(root, {"create": 0})
        except Killed:
            continue
    run(root, {})
    lost = [r for r in kept(root) if r["status"] == "LOST"]
    assert {r["failure_kind"] for r in lost} == {"controller_lost"}
    assert len([r for r in kept(root) if r["final"] and r["status"] != "LOST"]) == 12
    plan = json.loads(next((tmp_path / "sweeps").glob("*/plan.json")).read_text())
    assert (plan["repeats"], plan["revision"]) == (2, 0)
