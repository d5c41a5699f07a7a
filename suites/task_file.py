"""task.toml as typed models: every key with its default, our own `[passhat]` table strict.

Keys that Harbor may add are kept out with a warning; a key of ours that is unknown is an error. Knows
the file only, neither the folder around it nor what a key leads to (suites.loading).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from suites.grader_settings import GraderTable


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Strings = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Network = Literal["public", "no-network", "allowlist"]
Number = Annotated[float, Field(allow_inf_nan=False)]


class HarborTable(BaseModel):
    """A table of the shared format: unknown keys are kept aside, and reported once each."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, populate_by_name=True)


class OwnTable(BaseModel):
    """A table of ours: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ArtifactTable(HarborTable):
    source: str
    destination: str | None = None
    exclude: Strings = ()
    service: str = "main"


Artifacts = Annotated[tuple[str | ArtifactTable, ...], BeforeValidator(_as_tuple)]


class TaskTable(HarborTable):
    name: str | None = None
    version: str | None = None
    description: str | None = None
    authors: Any = None
    keywords: Strings = ()


class AgentTable(HarborTable):
    timeout_sec: Seconds | None = None
    user: str | int | None = None
    network_mode: Network | None = None
    allowed_hosts: Strings = ()


class HealthcheckTable(HarborTable):
    command: str
    interval_sec: Seconds = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    start_interval_sec: Seconds = 5.0
    retries: Annotated[int, Field(ge=1)] = 3


class EnvironmentTable(HarborTable):
    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: str = "linux"
    cpus: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_mb: Annotated[int, Field(gt=0)] | None = None
    memory: str | None = None
    storage_mb: Annotated[int, Field(gt=0)] | None = None
    storage: str | None = None
    gpus: Count = 0
    gpu_types: Strings | None = None
    network_mode: Network | None = None
    allowed_hosts: Strings = ()
    allow_internet: bool | None = None
    env: Mapping[str, str] = Field(default_factory=dict)
    workdir: str | None = None
    mcp_servers: Any = None
    skills_dir: str | None = None
    healthcheck: HealthcheckTable | None = None


class CollectTable(HarborTable):
    command: str
    service: str = "main"
    timeout_sec: Seconds = 60.0
    user: str | int | None = None


class VerifierTable(HarborTable):
    timeout_sec: Seconds = 600.0
    env: Mapping[str, str] = Field(default_factory=dict)
    user: str | int | None = None
    network_mode: Network | None = None
    allowed_hosts: Strings = ()
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentTable | None = None
    collect: Annotated[tuple[CollectTable, ...], BeforeValidator(_as_tuple)] = ()


class SolutionTable(HarborTable):
    env: Mapping[str, str] = Field(default_factory=dict)


class StepTable(HarborTable):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    agent: AgentTable | None = None
    verifier: VerifierTable | None = None
    min_reward: Number | dict[str, Number] | None = None
    healthcheck: HealthcheckTable | None = None
    artifacts: Artifacts = ()


class SimulatedUserTable(OwnTable):
    """The user that a model plays opposite the agent: who it is, what it wants, what it knows.

    `opening` is its first message. `known` may be told when asked for. `script` are (pattern, reply)
    pairs for a user without a model; the first whose pattern is found in the agent's message answers.
    """

    goal: str
    opening: str
    persona: str = ""
    known: dict[str, str] = Field(default_factory=dict)
    script: Annotated[tuple[dict[str, str], ...], BeforeValidator(_as_tuple)] = ()
    max_turns: Annotated[int, Field(gt=0)] = 12
    stop: str = "###DONE###"


class PasshatTable(OwnTable):
    """What we add to the format; Harbor does not look at it."""

    cluster: str | None = None
    grading: Literal["shared", "separate"] | None = None
    artifacts: Artifacts = ()
    graders: Annotated[tuple[GraderTable, ...], BeforeValidator(_as_tuple)] = ()
    read_only: bool = False
    capabilities: Strings = ()
    pids: Annotated[int, Field(gt=0)] | None = None
    shm_mb: Annotated[int, Field(gt=0)] | None = None
    network: Network | None = None
    allowed_hosts: Strings = ()
    wheels: str | None = None
    image_env: bool = False
    setup_timeout_sec: Seconds = 300.0
    simulated_user: SimulatedUserTable | None = None


class TaskFile(HarborTable):
    """The whole of task.toml."""

    schema_version: str = Field("1.4", validation_alias=AliasChoices("schema_version", "version"))
    source: str | None = None
    multi_step_reward_strategy: Literal["mean", "final"] = "mean"
    artifacts: Artifacts = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    task: TaskTable = TaskTable()
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    environment: EnvironmentTable = EnvironmentTable()
    solution: SolutionTable = SolutionTable()
    steps: Annotated[tuple[StepTable, ...], BeforeValidator(_as_tuple)] = ()
    passhat: PasshatTable | None = None


def unknown_keys(table: BaseModel, prefix: str = "") -> list[str]:
    """Dotted names of keys that no model knows, in the order of the file."""
    found = [f"{prefix}{key}" for key in (table.model_extra or {})]
    for name in type(table).model_fields:
        value = getattr(table, name)
        for index, item in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(item, BaseModel):
                place = f"{name}[{index}]" if isinstance(value, tuple) else name
                found += unknown_keys(item, f"{prefix}{place}.")
    return found
