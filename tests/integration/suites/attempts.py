"""Attempts of a suite's tasks on the real engine, made by a worker in this process: seconds, and no Ray."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.agents.settings import AgentSettings, NopSettings, OracleSettings
from orchestrator.config import ResourceSetting, SuiteSelection, SweepConfig
from orchestrator.execution.assignment import Outcome
from orchestrator.execution.freeze import Assigner, facts, freeze
from orchestrator.execution.place import PlaceOptions, open_worker
from orchestrator.storage.root import Root
from suites.loading import load_suite

ORACLE = OracleSettings(name="oracle", kind="oracle")
NOP = NopSettings(name="nop", kind="nop")


def outcomes(
    suite: Path, results: Path, agents: tuple[AgentSettings, ...] = (ORACLE, NOP), **setting: Any
) -> dict[tuple[str, str], Outcome]:
    """One attempt of every task by every agent: (task, agent) -> what came of it. Further keys are the sweep's."""
    resources = {"name": "r", "pinned": False, **setting.pop("resources", {})}
    config = SweepConfig(
        name="attempts",
        suite=SuiteSelection(path=str(suite)),
        agents=agents,
        resources=(ResourceSetting.model_validate(resources),),
        results=str(results),
        **setting,
    )
    loaded = load_suite(suite)
    assert not loaded.refused, loaded.refused
    frozen = freeze(config, loaded, Root(str(results)), datetime.now(UTC))
    assigner = Assigner(frozen, lambda: datetime.now(UTC))
    worker = open_worker(PlaceOptions(inline=True), facts(frozen))
    try:
        made = {}
        for job in assigner.jobs({}, [0]):
            assignment = assigner(job)
            made[assignment.task.name, assignment.agent.name] = worker.run(assignment)
        return made
    finally:
        worker.close()


def rows(made: dict[tuple[str, str], Outcome]) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows alone."""
    return {key: outcome.row for key, outcome in made.items()}
