"""The infrastructure-noise study as a sweep: the oracle, and the user's agents, under each resource setting."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.agents.settings import AgentSettings, OracleSettings
from orchestrator.config import ScheduleSetting, SuiteSelection, SweepConfig, headroom_setting, load_sweep
from orchestrator.execution.running import Listener, Request, run_due


@dataclass(frozen=True, slots=True)
class Study:
    """What `passhat noise` was asked. `headrooms`: words, numbers of at least 1 or "uncapped"."""

    suite: Path
    headrooms: tuple[str, ...]
    days: int
    repeats: int
    results: str
    sweep: Path | None = None
    include: tuple[str, ...] = ()
    pinned: bool = False


def study_config(study: Study) -> SweepConfig:
    """The study as a sweep. Raises ConfigError for a headroom that is none."""
    agents: list[AgentSettings] = [OracleSettings(name="oracle", kind="oracle")]
    if study.sweep is not None:
        agents += [agent for agent in load_sweep(study.sweep).agents if agent.kind not in ("oracle", "nop")]
    settings = [
        headroom_setting(word if word == "uncapped" else f"{word}x", word, study.pinned) for word in study.headrooms
    ]
    schedule = ScheduleSetting(waves=study.days, every="1d") if study.days > 1 else ScheduleSetting()
    return SweepConfig(
        name=f"noise-{study.suite.resolve().name}",
        suite=SuiteSelection(path=str(study.suite.resolve()), include=study.include),
        agents=tuple(agents),
        resources=tuple(settings),
        repeats=study.repeats,
        results=study.results,
        schedule=schedule,
        keep_artifacts=False,
    )


def run_study(study: Study, open_listener: Callable[[], Listener]) -> int:
    """Run what is due of the study; returns the exit code of the run."""
    return run_due(Request(config=study_config(study)), open_listener, quiet=True)
