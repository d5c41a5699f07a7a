"""sweep.toml -> typed models: the only place where a sweep file becomes types.

Every model is frozen and refuses unknown keys. A file that does not fit is refused with one sentence per
fault, naming the file, the key, the value and what is allowed, before anything starts.
"""

import re
import tomllib
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from orchestrator.agents.settings import AgentSettings
from orchestrator.config_faults import sentences
from orchestrator.core.retry import RETRIABLE
from orchestrator.core.waves import Rhythm, due_times

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]


class ConfigError(ValueError):
    """A file that cannot be used; the message is what a person reads."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)


class SuiteSelection(_Model):
    """Which tasks of which suite. `include`, `exclude`: shell patterns of task names; `tags`: any of them."""

    path: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class ResourceSetting(_Model):
    """A resource setting, relative to what each task asks for.

    `headroom` multiplies the limit over the promise (memory, and cores where they are shared; an exclusive
    core is its own limit), or "uncapped". Absolute values override what the task asks for.
    """

    name: Name
    headroom: Positive | Literal["uncapped"] = 1.0
    pinned: bool = False
    cpus: Positive | None = None
    cpus_limit: Positive | Literal["uncapped"] | None = None
    memory_mb: Natural | None = None
    memory_limit_mb: Natural | Literal["uncapped"] | None = None
    swap_mb: Annotated[int, Field(ge=0)] = 0
    pids_limit: Natural | Literal["uncapped"] = 1024
    disk_mb: Natural | None = None
    shm_mb: Natural = 64
    runtime: str | None = None

    @field_validator("headroom")
    @classmethod
    def _at_least_one(cls, value: float | str) -> float | str:
        if isinstance(value, float) and value < 1.0:
            raise ValueError("a limit below the promise cannot be kept; use 1.0 or more, or 'uncapped'")
        return value

    @model_validator(mode="after")
    def _pinned_is_whole(self) -> "ResourceSetting":
        if self.pinned and self.cpus_limit is not None:
            raise ValueError("pinned cores are their own limit; leave cpus_limit out or set pinned = false")
        return self


class RetrySetting(_Model):
    """Retry of infrastructure failures only: `max` further attempts, waiting backoff_s, doubled each time."""

    max: Annotated[int, Field(ge=0, le=20)] = 2
    causes: tuple[str, ...] = tuple(sorted(RETRIABLE))
    backoff_s: Annotated[float, Field(ge=0)] = 1.0

    @field_validator("causes")
    @classmethod
    def _only_infrastructure(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        wrong = sorted(set(value) - set(RETRIABLE))
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: only {', '.join(sorted(RETRIABLE))} are infrastructure's doing")
        return value


class BudgetSetting(_Model):
    """What the sweep may use in all its calls (`hours`: in each); no trial is started beyond it."""

    usd: Positive | None = None
    trials: Natural | None = None
    hours: Positive | None = None


class ScheduleSetting(_Model):
    """When the waves are due: either `every` (e.g. "1d", "6h") with optional `at`, or a `cron` expression."""

    waves: Natural = 1
    every: Annotated[str, Field(pattern=r"^[1-9][0-9]*[mhdw]$")] | None = None
    at: tuple[Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")], ...] = ()
    cron: str | None = None
    start: str | None = None
    timezone: str = "UTC"
    missed: Literal["run", "skip"] = "run"

    @model_validator(mode="after")
    def _one_clock(self) -> "ScheduleSetting":
        if self.cron and (self.every or self.at):
            raise ValueError("cron contradicts every/at; keep one of them")
        if self.waves > 1 and not (self.cron or self.every or self.at):
            raise ValueError("more than one wave needs every, at or cron, so that it is known when each is due")
        try:
            start = datetime.fromisoformat(self.start) if self.start else None
        except ValueError:
            raise ValueError(f"start = {self.start!r} is not a time; write for example 2026-03-01T03:00") from None
        rhythm = Rhythm(1, self.every, self.at, self.cron, start and start.replace(tzinfo=UTC), self.timezone)
        due_times(rhythm, datetime(2026, 1, 1, tzinfo=UTC))
        return self


class HookSetting(_Model):
    """Who is told at the end of a wave, at a gate's failure and on drift: a command and a webhook."""

    command: tuple[str, ...] = ()
    webhook: Annotated[str, Field(pattern="^https?://[^ ]+$")] | None = None


class ScriptedSetting(_Model):
    """A scripted model in the API's place, for demonstrations and tests: no model is asked.

    `success`: how often each model name solves a task, by the suite's reference solutions; `steady` names
    solve always the same tasks, the others draw luck for each attempt from the sweep's seed.
    """

    success: Annotated[dict[str, Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]
    steady: tuple[str, ...] = ()


class JudgeSetting(_Model):
    """The model that grades tasks whose grader is a judge; part of the judge's version on every row."""

    model: str
    max_tokens: Natural = 4000
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None


class ModelSetting(_Model):
    """How models are reached: through a gateway of ours, which alone holds the key.

    The key is ANTHROPIC_API_KEY of the environment, or `key_file`. `record` keeps the traffic of the live
    lane, so that the frozen lane can replay it; `recordings`: where, None: below the results.
    """

    upstream: str = "https://api.anthropic.com"
    key_file: str | None = None
    record: bool = False
    recordings: str | None = None
    attempt_budget_usd: Positive | None = None
    max_concurrency: Natural = 64
    rate_per_s: Positive | None = None
    prices_file: str | None = None
    scripted: ScriptedSetting | None = None
    judge: JudgeSetting | None = None


class SweepConfig(_Model):
    """One sweep: suite x agents x resources x lanes x repeats x waves."""

    name: Name
    suite: SuiteSelection
    agents: Annotated[tuple[AgentSettings, ...], Field(min_length=1)]
    resources: Annotated[tuple[ResourceSetting, ...], Field(min_length=1)] = (ResourceSetting(name="1x"),)
    lanes: Annotated[tuple[Literal["live", "frozen"], ...], Field(min_length=1)] = ("live",)
    repeats: Annotated[int, Field(ge=1, le=100_000)] = 1
    seed: Annotated[int, Field(ge=0)] = 0
    order: Literal["blocked", "longest_first"] = "blocked"
    results: str = "results"
    timeout_multiplier: Positive = 1.0
    default_agent_timeout_s: Positive = 3600.0
    concurrency: Natural | None = None
    keep_artifacts: bool = True
    horizon: Natural | None = None
    strict_environment: bool = False
    stop_broken_tasks: Natural | None = None
    gate: str | None = None
    notes: str = ""
    retry: RetrySetting = RetrySetting()
    budget: BudgetSetting = BudgetSetting()
    schedule: ScheduleSetting = ScheduleSetting()
    hooks: HookSetting = HookSetting()
    model: ModelSetting = ModelSetting()

    @field_validator("suite", mode="before", json_schema_input_type=str | SuiteSelection)
    @classmethod
    def _path_alone(cls, value: object) -> object:
        return {"path": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _names_are_unique(self) -> "SweepConfig":
        named: dict[str, list[str]] = {
            "agents": [a.name for a in self.agents],
            "resources": [r.name for r in self.resources],
            "lanes": [*self.lanes],
        }
        for what, names in named.items():
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"{what}: the name {twice[0]!r} is used twice; each needs one of its own")
        digests: dict[str, str] = {}
        for agent in self.agents:
            other = digests.setdefault(agent.digest(), agent.name)
            if other != agent.name:
                raise ValueError(
                    f"agents {other!r} and {agent.name!r} have the same settings; a comparison would be empty"
                )
        return self


def parse_sweep(text: str, source: str) -> SweepConfig:
    """A sweep file's text as a typed config. Raises ConfigError: one line per fault.

    An agent or a resource setting with a table `matrix` stands for one of each combination of its lists.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from None
    for key in ("agents", "resources"):
        if isinstance(data.get(key), list):
            data[key] = [one for entry in data[key] for one in expand(entry, f"{source}: {key}")]
    try:
        return SweepConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError("\n".join(sentences(source, [dict(fault) for fault in error.errors()]))) from None


def expand(entry: object, where: str) -> list[object]:
    """An entry, or one for each combination of the lists in its `matrix`, named name-value-value.

    Raises ConfigError for a matrix that is not a table of lists with something in them.
    """
    if not isinstance(entry, dict) or "matrix" not in entry:
        return [entry]
    rest = {key: value for key, value in entry.items() if key != "matrix"}
    matrix = entry["matrix"]
    if not isinstance(matrix, dict) or not matrix or not all(isinstance(v, list) and v for v in matrix.values()):
        raise ConfigError(
            f'{where}: matrix = {matrix!r} must be a table of lists, for example {{ effort = ["low", "high"] }}'
        )
    twice = sorted(set(matrix) & set(rest))
    if twice:
        raise ConfigError(f"{where}: {twice[0]} stands both in the entry and in its matrix; keep one")
    made: list[object] = []
    for values in product(*matrix.values()):
        words = "-".join(re.sub(r"[^A-Za-z0-9._+]+", "_", str(value)) for value in values)
        made.append(
            {**rest, **dict(zip(matrix, values, strict=True)), "name": f"{rest.get('name', '')}-{words}".lstrip("-")}
        )
    return made


def sweep_schema() -> dict[str, object]:
    """The JSON Schema of a sweep file as a person may write it: an entry may stand for a matrix of them."""
    schema = SweepConfig.model_json_schema()
    lists = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "array", "minItems": 1}}
    several = {"type": "object", "required": ["matrix"], "properties": {"matrix": lists}}
    for key in ("agents", "resources"):
        field = schema["properties"][key]
        field["items"] = {"anyOf": [field["items"], several]}
    return schema


def headroom_setting(name: str, headroom: str | float, pinned: bool) -> ResourceSetting:
    """A resource setting by its headroom alone. Raises ConfigError for a word that is none."""
    try:
        return ResourceSetting.model_validate({"name": name, "headroom": headroom, "pinned": pinned})
    except ValidationError:
        raise ConfigError(f"--headroom {headroom!r} is no headroom; give numbers of at least 1, or uncapped") from None


def load_sweep(path: Path) -> SweepConfig:
    """Read and parse. Relative paths of suite and results are taken from the file's folder."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); `passhat init` writes a commented one") from None
    config = parse_sweep(text, str(path))
    base = path.resolve().parent
    suite = config.suite.model_copy(update={"path": str(base / config.suite.path)})
    results = config.results if "://" in config.results else str(base / config.results)
    agents = tuple(agent.relative_to(base) for agent in config.agents)
    return config.model_copy(update={"suite": suite, "results": results, "agents": agents})
