"""A task: one problem with its environment, grader, reference solution, resources and timeouts.

Plain frozen values, made by suites.loading from a task folder. Knows nothing of agents, runs or results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandboxes.base import ImageSource, NetworkSpec
from sandboxes.sidecar import Program


@dataclass(frozen=True, slots=True)
class Healthcheck:
    """A shell command that must exit 0 before the agent starts; times in seconds."""

    command: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_period_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int = 3


@dataclass(frozen=True, slots=True)
class ArtifactSpec:
    """A path of the agent's container that the outcome consists of, and where it goes when graded apart."""

    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str = "main"


@dataclass(frozen=True, slots=True)
class CollectHook:
    """A command run after the agent ended and before the artifacts are taken."""

    command: str
    service: str = "main"
    timeout_s: float = 60.0
    user: str | None = None


@dataclass(frozen=True, slots=True)
class GraderSpec:
    """One grader of a task.

    kind: "reward" (a reward file), "tests" (a report of single tests with fail-to-pass, pass-to-pass and a
    canary), "exact" (an answer under a declared normalisation), "state" (end state and facts), "judge" (a
    model). `settings` are the grader's own, validated while loading.
    """

    kind: str = "reward"
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grading:
    """How a step's outcome is judged.

    mode "shared": in the agent's own container; "separate": in a fresh container of the task's image, or
    of `image`, that receives only the declared artifacts. `tests_dir` is None where nothing is copied in;
    `shared_tests_dir` (a multi-step task's root tests) is copied before it. `asked` are the resources of
    a separate container, where they differ from the task's. With `image_env` the tests see the image's
    own environment variables (a folder without `[passhat]` may need its PATH), else a clean environment.
    `workdir` None: the task's. `script` None: tests/test.sh is run, else this file, copied in beside them.
    """

    mode: str = "shared"
    graders: tuple[GraderSpec, ...] = (GraderSpec(),)
    tests_dir: Path | None = None
    timeout_s: float = 600.0
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    image: ImageSource | None = None
    network: NetworkSpec = field(default_factory=NetworkSpec)
    collect: tuple[CollectHook, ...] = ()
    shared_tests_dir: Path | None = None
    asked: "Asked | None" = None
    image_env: bool = False
    workdir: str | None = None
    script: Path | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction and its grading; a single-step task has exactly one, named ""."""

    name: str
    instruction: str
    grading: Grading
    agent_timeout_s: float | None = None
    agent_user: str | None = None
    solution_dir: Path | None = None
    workdir_dir: Path | None = None
    healthcheck: Healthcheck | None = None
    min_reward: Mapping[str, float] | float | None = None
    artifacts: tuple[ArtifactSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The resources a task asks for; None: the sweep's default applies."""

    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    shm_mb: int | None = None
    pids: int | None = None
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Service:
    """A program beside the agent's container, on the trial's private network.

    `asked` is always whole (cpus, memory_mb); `said` False: nobody wrote it, and a small default stands.
    `depends_on`: (service, condition).
    """

    name: str
    image: ImageSource
    program: Program = field(default_factory=Program)
    env: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    hostname: str | None = None
    asked: Asked = field(default_factory=Asked)
    said: bool = True
    healthcheck: Healthcheck | None = None
    depends_on: tuple[tuple[str, str], ...] = ()
    capabilities: tuple[str, ...] = ()
    read_only: bool = False
    tmpfs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One problem. `name` is unique in its suite; `digest` is the sha256 of its content.

    `main_service` is the agent's service in `compose_file` ("client" in legacy folders); `services` are the
    others in the order in which they start, and the agent starts when `waits_for` holds.
    """

    name: str
    digest: str
    folder: Path
    image: ImageSource
    steps: tuple[Step, ...]
    asked: Asked = field(default_factory=Asked)
    network: NetworkSpec = field(default_factory=NetworkSpec)
    env: Mapping[str, str] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    healthcheck: Healthcheck | None = None
    reward_strategy: str = "mean"
    cluster: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    read_only: bool = False
    compose_file: Path | None = None
    simulated_user: Mapping[str, object] | None = None
    setup_timeout_s: float = 300.0
    main_service: str = "main"
    services: tuple[Service, ...] = ()
    main_aliases: tuple[str, ...] = ()
    waits_for: tuple[tuple[str, str], ...] = ()
    version: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A named, versioned, content-hashed set of tasks, and the task folders that were refused.

    `refused` and `warnings` are (folder name, one sentence). `check_headroom`: the limit over the promise, or
    "uncapped", at which its oracle must pass every task.
    """

    name: str
    version: str
    digest: str
    folder: Path
    tasks: tuple[Task, ...]
    refused: tuple[tuple[str, str], ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    description: str = ""
    licence: str | None = None
    check_headroom: float | str = 1.0
