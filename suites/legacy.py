"""Legacy Terminal-Bench folders (task.yaml): read into the same Task. Pure but for reads.

Their verdict is "every test of pytest's summary passed"; other parsers are refused by name.
"""

from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from sandboxes.base import ImageSource, NetworkSpec
from suites.compose import with_compose
from suites.environment_fields import COMPOSE_FILES, image_of_service
from suites.errors import TaskError, refuse
from suites.hashing import task_digest
from suites.reading import read_text, validated, without_canary
from suites.task import Asked, GraderSpec, Grading, Step, Task
from suites.task_file import HarborTable, Seconds

TERMINAL_BENCH = {
    f"T_BENCH_{name}": value
    for name, value in {
        "TASK_DOCKER_CLIENT_IMAGE_NAME": "client",
        "TASK_DOCKER_CLIENT_CONTAINER_NAME": "client",
        "TASK_DOCKER_NAME_PREFIX": "task",
        "TEST_DIR": "/tests",
        "TASK_LOGS_PATH": "/logs",
        "CONTAINER_LOGS_PATH": "/logs",
        "TASK_AGENT_LOGS_PATH": "/agent-logs",
        "CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
    }.items()
}


class LegacyFile(HarborTable):
    """task.yaml: the keys that decide something; all others are kept as metadata."""

    instruction: str
    difficulty: str | None = None
    category: str | None = None
    tags: list[str] = Field(default_factory=list)
    parser_name: str = "pytest"
    max_agent_timeout_sec: Seconds = 360.0
    max_test_timeout_sec: Seconds = 60.0
    run_tests_in_same_shell: bool = False
    disable_asciinema: bool = False


def load_legacy(folder: Path) -> Task:
    """One legacy folder. Raises TaskError."""
    file = folder / "task.yaml"
    parsed = validated(LegacyFile, _tables(file), file)
    if parsed.parser_name != "pytest":
        raise refuse(file, "parser_name", parsed.parser_name, 'only "pytest" can be read')
    if not (folder / "run-tests.sh").is_file():
        raise TaskError(f"{file}: the task has no run-tests.sh, which its grader runs: write it")
    grading = Grading(
        graders=(GraderSpec("pytest"),),
        tests_dir=folder / "tests" if (folder / "tests").is_dir() else None,
        timeout_s=parsed.max_test_timeout_sec,
        env={"TEST_DIR": "/tests"},
        network=NetworkSpec("public"),
        image_env=True,
        script=folder / "run-tests.sh",
    )
    step = Step(
        name="",
        instruction=without_canary(parsed.instruction),
        grading=grading,
        agent_timeout_s=parsed.max_agent_timeout_sec,
        solution_dir=folder if (folder / "solution.sh").is_file() else None,
    )
    compose = next((f for name in COMPOSE_FILES if (f := folder / name).is_file()), None)
    alone = compose is None or _only_client(compose)
    task = Task(
        name=folder.resolve().name,
        digest=task_digest(folder),
        folder=folder,
        image=_image(folder, compose),
        steps=(step,),
        asked=Asked(),
        network=NetworkSpec("public"),
        difficulty=parsed.difficulty,
        tags=tuple(parsed.tags),
        metadata={"category": parsed.category, **(parsed.model_extra or {})},
        compose_file=None if alone else compose,
        main_service="client",
    )
    return task if task.compose_file is None else with_compose(task, TERMINAL_BENCH)


def _tables(file: Path) -> Any:
    try:
        return yaml.safe_load(read_text(file))
    except yaml.YAMLError as error:
        raise TaskError(f"{file} is not YAML: {' '.join(str(error).split())}") from error


def _image(folder: Path, compose: Path | None) -> ImageSource:
    if (folder / "Dockerfile").is_file():
        return ImageSource(dockerfile_dir=str(folder.resolve()))
    if compose is not None:
        return image_of_service(compose, "client", 600.0)
    raise TaskError(f"{folder}: the task has neither a Dockerfile nor a docker-compose.yaml: give one")


def _only_client(compose: Path) -> bool:
    """Whether the file describes nothing but the usual container, which needs no compose."""
    tables = _tables(compose)
    services = tables.get("services") if isinstance(tables, dict) else None
    return isinstance(services, dict) and set(services) == {"client"}
