"""One call of a sweep: what is recovered, refused and subtracted before anything runs, and what it leaves."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from orchestrator.agents.settings import AgentDeps, NopSettings, OracleSettings, build_agent
from orchestrator.config import ConfigError, ResourceSetting, RetrySetting, SuiteSelection, SweepConfig
from orchestrator.core.columns import COLUMNS
from orchestrator.execution.assignment import Assignment
from orchestrator.execution.attempt import Place
from orchestrator.execution.cluster import Cluster
from orchestrator.execution.driver import Driver
from orchestrator.execution.freeze import facts, freeze
from orchestrator.execution.inline_cluster import InlineCluster
from orchestrator.execution.session import Ended, RunOptions, run_sweep
from orchestrator.execution.worker import Worker
from orchestrator.storage.dimensions import read_entry
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import sweep_lock
from sandboxes.base import Command, ExecResult
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from suites.task import Asked, Suite
from tests.unit.execution.scripted import make_task

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = SweepConfig(
    name="s",
    suite=SuiteSelection(path="x"),
    agents=(NopSettings(name="nop", kind="nop"),),
    resources=(ResourceSetting(name="1x"),),
    repeats=2,
    retry=RetrySetting(max=0),
)


def make_suite(*names: str, **asked: Asked) -> Suite:
    tasks = tuple(make_task(name, asked=asked.get(name, Asked(cpus=1.0, memory_mb=64))) for name in names)
    return Suite("suite", "1", "d", Path("/nowhere"), tasks)


def give_reward(sandbox: FakeSandbox, command: Command) -> ExecResult:
    if "test.sh" in " ".join(command.argv):
        sandbox.write("/logs/verifier/reward.txt", b"1")
    return answered()


@contextmanager
def first_cores(count: int) -> Iterator[tuple[int, ...]]:
    yield tuple(range(count))


@dataclass
class Called:
    """What one call did. `opened`: how often a cluster was asked for."""

    ended: Ended
    heard: list[tuple[str, Mapping[str, object]]]
    opened: int


@dataclass
class Sweeping:
    """A results folder that calls go to."""

    root: Root
    suite: Suite = field(default_factory=lambda: make_suite("t0", "t1"))

    def call(self, config: SweepConfig = CONFIG, options: RunOptions | None = None) -> Called:
        frozen = freeze(config, self.suite, self.root, NOW)
        heard: list[tuple[str, Mapping[str, object]]] = []
        opened = []

        def open_cluster() -> Cluster:
            opened.append(1)
            provider = FakeProvider(give_reward)
            place = Place(provider, first_cores, provider.readings, "n1")
            make = partial(build_agent, deps=AgentDeps())
            return InlineCluster(Worker(facts(frozen), place, make, provider.host()), cpus=2.0)

        ended = run_sweep(
            frozen, self.root, open_cluster, options or RunOptions(), lambda e, f: heard.append((e, dict(f)))
        )
        return Called(ended, heard, len(opened))

    def rows(self) -> list[dict[str, object]]:
        found = [row for table in scan(self.root) for row in table.to_pylist()]
        return sorted(found, key=lambda row: (row["plan_position"], row["attempt"]))


@pytest.fixture
def sweeping(tmp_path: Path) -> Sweeping:
    return Sweeping(Root(tmp_path))


def test_a_settled_sweep_opens_no_cluster(sweeping: Sweeping) -> None:
    assert sweeping.call().opened == 1
    again = sweeping.call()
    assert (again.opened, again.ended.stopped_by, again.ended.progress.done) == (0, None, 4)
    assert again.ended.progress.without_verdict == 0


def test_a_task_that_no_node_can_take_is_a_row_at_once_and_the_others_run(sweeping: Sweeping) -> None:
    sweeping.suite = make_suite("t0", "giant", giant=Asked(cpus=64.0, memory_mb=64))
    called = sweeping.call()
    giants = [row for row in sweeping.rows() if row["task"] == "giant"]
    assert [(r["status"], r["failure_phase"], r["failure_kind"], r["final"]) for r in giants] == [
        ("SANDBOX_ERROR", "queue", "does_not_fit", True)
    ] * 2
    assert giants[0]["failure_message"] == (
        "64 cores were promised and the largest node has 2; lower the task's or the setting's promise,"
        " or add a larger node"
    )
    assert giants[0]["requested_cpus"] == 64.0
    assert [row["status"] for row in sweeping.rows() if row["task"] == "t0"] == ["PASSED", "PASSED"]
    assert [fields["task"] for event, fields in called.heard if event == "refused"] == ["giant"]
    assert called.ended.progress.without_verdict == 2
    assert called.ended.progress.running == 0


def test_repeats_tasks_and_arms_may_be_added_and_nothing_is_run_twice(sweeping: Sweeping) -> None:
    sweeping.call()
    before = sweeping.rows()
    sweeping.suite = make_suite("t0", "t1", "t2")
    oracle = OracleSettings(name="oracle", kind="oracle")
    more = CONFIG.model_copy(update={"repeats": 3, "agents": (*CONFIG.agents, oracle)})
    sweeping.call(more)
    rows = sweeping.rows()
    assert len(rows) == 3 * 2 * 3
    assert len({row["sweep"] for row in rows}) == 1
    kept = {row["attempt_id"]: row["finished_at"] for row in rows}
    assert {row["attempt_id"]: row["finished_at"] for row in before}.items() <= kept.items()
    assert Counter(row["repeat"] for row in rows) == {0: 6, 1: 6, 2: 6}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"seed": 9}, "seed was 0 and is now 9"),
        ({"repeats": 1}, "repeats was 2 and is now 1"),
        ({"resources": (ResourceSetting(name="1x", headroom=3.0),)}, "resource setting 1x changed"),
    ],
)
def test_what_would_change_a_started_sweep_is_refused_before_anything_runs(
    sweeping: Sweeping, change: dict[str, object], word: str
) -> None:
    sweeping.call()
    with pytest.raises(ConfigError, match=word) as caught:
        sweeping.call(CONFIG.model_copy(update=change))
    assert "Give the sweep a new name" in str(caught.value)
    assert len(sweeping.rows()) == 4


def test_a_selection_that_leaves_no_task_is_refused(sweeping: Sweeping) -> None:
    with pytest.raises(ConfigError, match=r"leave no task of 2 \(such as t0, t1\)"):
        sweeping.call(CONFIG.model_copy(update={"suite": SuiteSelection(path="x", include=("z*",))}))


@pytest.mark.parametrize(
    ("selection", "tasks"),
    [
        ({"include": ("a*",)}, ["a1", "a2"]),
        ({"include": ("a*",), "exclude": ("*2",)}, ["a1"]),
        ({"tags": ("quick", "odd")}, ["a1", "b1"]),
        ({"include": ("b1", "a2")}, ["a2", "b1"]),
    ],
)
def test_tasks_are_chosen_by_name_and_tag(
    sweeping: Sweeping, selection: dict[str, tuple[str, ...]], tasks: list[str]
) -> None:
    suite = make_suite("a1", "a2", "b1")
    tagged = tuple(replace(task, tags=("quick",) if task.name.endswith("1") else ()) for task in suite.tasks)
    sweeping.suite = replace(suite, tasks=tagged)
    sweeping.call(CONFIG.model_copy(update={"suite": SuiteSelection(path="x", **selection)}))
    assert sorted({str(row["task"]) for row in sweeping.rows()}) == tasks


def test_damage_in_a_dead_controllers_journal_is_told_and_the_rest_goes_on(sweeping: Sweeping) -> None:
    sweep_id = sweeping.call().ended.progress.sweep_id
    journal = sweeping.root.local_folder(f"sweeps/{sweep_id}/journal")
    (journal / "dead-000000.jsonl").write_bytes(b"00000000 {}\n00000000 {}\n")
    called = sweeping.call(CONFIG.model_copy(update={"repeats": 3}))
    told = [str(fields["message"]) for event, fields in called.heard if event == "damage"]
    assert told
    assert all("dead-000000.jsonl: line" in message for message in told)
    assert len(sweeping.rows()) == 6


def test_a_second_controller_is_turned_away_with_the_first_ones_number(sweeping: Sweeping) -> None:
    sweep_id = sweeping.call().ended.progress.sweep_id
    with (
        sweep_lock(sweeping.root, sweep_id),
        pytest.raises(RuntimeError, match=rf"sweep {sweep_id} is being run by process [0-9]+"),
    ):
        sweeping.call(CONFIG.model_copy(update={"repeats": 3}))
    assert len(sweeping.rows()) == 4


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (RunOptions(), (False, False)),
        (RunOptions(late_waves=frozenset({0})), (True, False)),
        (RunOptions(environment_changed=True), (False, True)),
    ],
)
def test_a_late_wave_and_a_changed_environment_stand_on_every_row(
    sweeping: Sweeping, options: RunOptions, found: tuple[bool, bool]
) -> None:
    sweeping.call(options=options)
    assert {(row["wave_late"], row["environment_changed"]) for row in sweeping.rows()} == {found}


NOT_KNOWN_TO_A_FAKE = {"usage", "failure"}


def test_every_group_of_columns_is_filled_by_a_trial_that_ran(sweeping: Sweeping) -> None:
    pinned = ResourceSetting(name="1x", pinned=True)
    sweeping.call(CONFIG.model_copy(update={"resources": (pinned,)}))
    for row in sweeping.rows():
        known = {column.group for column in COLUMNS if row[column.name] not in (None, [], {})}
        assert known >= {column.group for column in COLUMNS} - NOT_KNOWN_TO_A_FAKE
        assert (row["effective_cpuset"], row["effective_cpus_allowed"], row["requested_pinned"]) == ("0", "0", True)
        assert (row["retry_max"], row["plan_seed"], row["headroom"]) == (0, 0, "1")


def test_what_ids_stand_for_is_written_beside_the_rows(sweeping: Sweeping, tmp_path: Path) -> None:
    sweeping.call()
    row = sweeping.rows()[0]
    for kind, key in (
        ("hosts", row["host_id"]),
        ("images", row["image_key"]),
        ("tasks", str(row["task_digest"])[:24]),
        ("agents", str(row["agent_digest"])[:24]),
    ):
        assert (tmp_path / kind / f"{key}.parquet").is_file()


def test_two_sweeps_may_give_one_name_to_different_settings(sweeping: Sweeping, tmp_path: Path) -> None:
    sweeping.call()
    wider = ResourceSetting(name="1x", pids_limit=9)
    sweeping.call(CONFIG.model_copy(update={"name": "other", "resources": (wider,)}))
    entries = sorted(
        read_entry(sweeping.root, "resources", path.stem)["pids_limit"] for path in (tmp_path / "resources").iterdir()
    )
    assert entries == [9, 1024]


def test_a_call_that_breaks_leaves_the_sweep_free_and_the_next_one_completes_it(sweeping: Sweeping) -> None:
    def no_cluster() -> Cluster:
        raise ConnectionError("no Ray cluster could be joined")

    sweep_id = sweeping.call().ended.progress.sweep_id
    folder = sweeping.root.local_folder(f"sweeps/{sweep_id}/journal")
    assert list(folder.glob("*.jsonl")) == []
    frozen = freeze(CONFIG.model_copy(update={"repeats": 3}), sweeping.suite, sweeping.root, NOW)
    with pytest.raises(ConnectionError, match="no Ray cluster"):
        run_sweep(frozen, sweeping.root, no_cluster, RunOptions(), lambda *_: None)
    with sweep_lock(sweeping.root, sweep_id):
        pass
    sweeping.call(CONFIG.model_copy(update={"repeats": 3}))
    assert len(sweeping.rows()) == 6
    assert list(folder.glob("*.jsonl")) == []


def test_what_an_engine_still_made_when_its_worker_was_killed_is_removed_too(
    sweeping: Sweeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine shows a container only when it is made, which may be after the worker that asked for it is gone."""
    monkeypatch.setattr("orchestrator.execution.session.LATE_S", 0.6)
    shown = deque([0, 0, 1, 0, 0, 1])
    looked: list[int] = []
    drivers: list[Driver] = []

    class Slow(InlineCluster):
        def start(self, worker: int, assignment: Assignment) -> None:
            drivers[0].abort("interrupted: cancelled at once")

        def reap(self) -> int:
            looked.append(shown.popleft() if shown else 0)
            return looked[-1]

    frozen = freeze(CONFIG, sweeping.suite, sweeping.root, NOW)
    provider = FakeProvider(give_reward)
    place = Place(provider, first_cores, provider.readings, "n1")
    worker = Worker(facts(frozen), place, partial(build_agent, deps=AgentDeps()), provider.host())
    ended = run_sweep(
        frozen, sweeping.root, lambda: Slow(worker, cpus=2.0), RunOptions(), lambda *_: None, on_driver=drivers.append
    )
    assert ended.reaped == 2
    assert looked[-1] == 0
    assert {row["status"] for row in sweeping.rows()} == {"CANCELLED"}
