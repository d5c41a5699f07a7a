"""Checks a suite: its oracle must pass every time, and an agent that does nothing must never pass."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.agents.settings import NopSettings, OracleSettings
from orchestrator.config import SuiteSelection, SweepConfig, headroom_setting
from orchestrator.core.status import Status
from orchestrator.execution.running import Listener, Request, run_due
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from suites.loading import load_suite


@dataclass(slots=True)
class TaskCheck:
    """What came of one task: statuses by agent, and why it breaks the rule; empty when it holds."""

    task: str
    oracle: Counter[str] = field(default_factory=Counter)
    nop: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """`results`: where the rows go. `headroom`: limit over promise, a number or "uncapped"; None: as the suite says."""

    suite: Path
    results: str
    repeats: int = 1
    include: tuple[str, ...] = ()
    headroom: str | None = None
    pinned: bool = False
    address: str | None = None


def check_suite(request: CheckRequest, open_listener: Callable[[], Listener]) -> list[TaskCheck]:
    """Run oracle and nop on every task, and judge the rows. Raises ConfigError, TaskError."""
    suite = load_suite(request.suite)
    headroom = suite.check_headroom if request.headroom is None else request.headroom
    config = SweepConfig(
        name="suite-check",
        suite=SuiteSelection(path=str(request.suite), include=request.include),
        agents=(OracleSettings(name="oracle", kind="oracle"), NopSettings(name="nop", kind="nop")),
        resources=(headroom_setting("check", headroom, request.pinned),),
        repeats=request.repeats,
        results=request.results,
        keep_artifacts=False,
    )
    run_due(Request(config=config, address=request.address), open_listener, quiet=True)
    checks = _read(Root(request.results), request.repeats)
    checks += [TaskCheck(name, broken=[f"cannot be loaded: {reason}"]) for name, reason in suite.refused]
    return sorted(checks, key=lambda check: check.task)


def _read(root: Root, repeats: int) -> list[TaskCheck]:
    found: dict[str, TaskCheck] = {}
    reasons: dict[str, list[str]] = defaultdict(list)
    for table in scan(root, ("task", "agent", "status", "final", "failure_message")):
        for row in table.to_pylist():
            if not row["final"]:
                continue
            check = found.setdefault(row["task"], TaskCheck(row["task"]))
            (check.oracle if row["agent"] == "oracle" else check.nop)[row["status"]] += 1
            if row["agent"] == "oracle" and row["failure_message"]:
                reasons[row["task"]].append(row["failure_message"])
    for check in found.values():
        check.broken += judge(check, repeats)
        if check.broken and reasons[check.task]:
            check.broken.append(reasons[check.task][0].splitlines()[0][:300])
    return list(found.values())


def judge(check: TaskCheck, repeats: int) -> list[str]:
    """Why a task breaks the rule, one sentence each."""
    broken = []
    passed = check.oracle[Status.PASSED.value]
    if passed != repeats:
        others = ", ".join(f"{n} {s}" for s, n in sorted(check.oracle.items()) if s != Status.PASSED.value)
        broken.append(
            f"the oracle passed {passed} of {repeats} ({others or 'no row'}); mend the solution or the grader"
        )
    if check.nop[Status.PASSED.value]:
        times = check.nop[Status.PASSED.value]
        broken.append(f"doing nothing passed {times} of {repeats}; the grader accepts an untouched environment")
    elif sum(n for s, n in check.nop.items() if Status(s).has_verdict) != repeats:
        others = ", ".join(f"{n} {s}" for s, n in sorted(check.nop.items()))
        broken.append(f"doing nothing did not get a verdict every time ({others or 'no row'})")
    return broken
