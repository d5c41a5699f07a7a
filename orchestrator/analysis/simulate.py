"""A generator of rows with known truth: agents, tasks, days, resource settings, nodes and failures.

Writes a results folder in the real schema, for tests of the statistics, demonstrations and benchmarks. The
pass probability of every (task, day) is known (`Simulation.rates`), so what an analysis says can be compared
with what is so.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import expit

from orchestrator.analysis.simulated_rows import attempts_of
from orchestrator.storage.schema import without_partition_keys

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AgentTruth:
    """An agent: its ability in logits, what a trial costs and how long it takes on average."""

    name: str
    ability: float = 0.5
    cost_usd: float = 0.05
    seconds: float = 60.0
    drift_per_wave: float = 0.0
    judge_leniency: float = 0.0


@dataclass(frozen=True, slots=True)
class SettingTruth:
    """A resource setting: how often hungry tasks are killed by it, and how often the machinery fails."""

    name: str = "3x"
    headroom: str = "3.0"
    oom: float = 0.0
    infrastructure: float = 0.01


@dataclass(frozen=True, slots=True)
class Truth:
    """What is so. Standard deviations are in logits; `hungry` is the share of tasks that feel memory."""

    agents: tuple[AgentTruth, ...] = (AgentTruth("agent-a"),)
    settings: tuple[SettingTruth, ...] = (SettingTruth(),)
    lanes: tuple[str, ...] = ("live",)
    suite: str = "simulated"
    tasks: int = 50
    repeats: int = 5
    days: int = 1
    nodes: int = 3
    tasks_per_cluster: int = 1
    task_sd: float = 1.5
    agent_task_sd: float = 0.5
    day_sd: float = 0.0
    node_sd: float = 0.0
    hungry: float = 0.3
    retry_max: int = 1
    judged: bool = False
    judge_sensitivity: float = 0.95
    judge_specificity: float = 0.9
    first_day: date = date(2026, 1, 1)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Arm:
    """One simulated arm on one day."""

    agent: AgentTruth
    setting: SettingTruth
    lane: str
    wave: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """A truth with its random effects drawn; the same truth gives the same rows."""

    truth: Truth
    difficulty: Floats
    interaction: Floats
    day_effect: Floats
    node_effect: Floats
    hungry: NDArray[np.bool_]
    sweep: str = field(default="")

    @classmethod
    def of(cls, truth: Truth) -> "Simulation":
        rng = np.random.default_rng(truth.seed)
        clusters = -(-truth.tasks // truth.tasks_per_cluster)
        shared = np.repeat(rng.normal(0, 1, clusters), truth.tasks_per_cluster)[: truth.tasks]
        own = rng.normal(0, 1, truth.tasks)
        mixed = own if truth.tasks_per_cluster == 1 else (shared + own) / np.sqrt(2)
        return cls(
            truth,
            mixed * truth.task_sd,
            rng.normal(0, truth.agent_task_sd, (len(truth.agents), truth.tasks)),
            rng.normal(0, truth.day_sd, truth.days),
            rng.normal(0, truth.node_sd, truth.nodes),
            rng.random(truth.tasks) < truth.hungry,
            "sim-" + hashlib.sha256(repr(truth).encode()).hexdigest()[:12],
        )

    def rates(self, agent: str, wave: int = 0, *, lane: str = "live") -> Floats:
        """The probability that a trial that ends by the agent's own doing passes, for each task."""
        index = [a.name for a in self.truth.agents].index(agent)
        drift = self.truth.agents[index].drift_per_wave * wave if lane == "live" else 0.0
        effect = self.day_effect[wave] + drift + self.truth.agents[index].ability
        return np.asarray(expit(effect + self.interaction[index] - self.difficulty), dtype=float)

    def arms(self) -> Iterator[Arm]:
        for agent in self.truth.agents:
            for setting in self.truth.settings:
                for lane in self.truth.lanes:
                    for wave in range(self.truth.days):
                        yield Arm(agent, setting, lane, wave)

    def table(self, arm: Arm) -> pa.Table:
        """All attempts of one arm on one day."""
        return attempts_of(self, arm)

    def write(self, root: Path, *, files: int | None = None) -> int:
        """Write a results folder and return its number of rows; one file per arm and day, or `files` of each."""
        written = 0
        for number, arm in enumerate(self.arms()):
            table = self.table(arm)
            day = self.truth.first_day + timedelta(days=arm.wave)
            names = {"suite": self.truth.suite, "agent": arm.agent.name, "resources": arm.setting.name, "day": day}
            folder = root / "trials" / "/".join(f"{k}={quote(str(v), safe='')}" for k, v in names.items())
            folder.mkdir(parents=True, exist_ok=True)
            parts = max(1, files or 1)
            step = -(-table.num_rows // parts)
            for part in range(parts):
                name = f"part-simulated-{number:05d}-{part:04d}.parquet"
                pq.write_table(
                    without_partition_keys(table.slice(part * step, step)), folder / name, compression="zstd"
                )
            written += table.num_rows
        return written
