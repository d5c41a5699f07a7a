"""From a folder to a Task or a Suite: every field works or is refused by name.

Nothing is run and nothing is read but the folder; environment templates are filled from a mapping that
the caller passes. A task that cannot be used is named in Suite.refused and never stops its siblings.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from suites import grading_fields, legacy
from suites.compose import check_services, with_compose
from suites.environment_fields import (
    artifacts_of,
    asked_of,
    compose_file,
    healthcheck_of,
    image_of,
    network_of,
    refuse_unsupported,
)
from suites.errors import TaskError, refuse
from suites.files import check_links
from suites.hashing import suite_digest, task_digest
from suites.reading import (
    SuiteFile,
    fill_templates,
    parse_toml,
    read_text,
    task_file,
    validated,
    without_canary,
)
from suites.task import Step, Suite, Task
from suites.task_file import StepTable, TaskFile

TASK_FILES = ("task.toml", "task.yaml")


def load_suite(path: Path, env: Mapping[str, str] | None = None) -> Suite:
    """The suite in a folder: its direct children that are task folders, or the folder itself as one task.

    Raises TaskError when there is no task at all, or suite.toml is wrong; a single bad task is only refused.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise TaskError(f"the suite {str(path)!r} is no folder here: give the path of a suite or a task folder")
    folders = [folder] if is_task_folder(folder) else [p for p in sorted(folder.iterdir()) if is_task_folder(p)]
    if not folders:
        raise TaskError(f"{folder} holds no task: a task is a folder with a task.toml (or a legacy task.yaml)")
    tasks: dict[str, Task] = {}
    refused: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    for child in folders:
        try:
            task, said = load_task(child, env or {})
        except (TaskError, OSError) as error:
            refused.append((child.name, str(error)))
            continue
        warnings += [(child.name, line) for line in said]
        if task.name in tasks:
            first = tasks[task.name].folder.name
            refused.append((child.name, f"{child}: the name {task.name!r} is taken by {first}: rename one"))
        else:
            tasks[task.name] = task
    return _suite(folder, tuple(tasks.values()), tuple(refused), tuple(warnings))


def is_task_folder(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TASK_FILES)


def load_task(folder: Path, env: Mapping[str, str]) -> tuple[Task, list[str]]:
    """One task folder and its warnings. Raises TaskError."""
    check_links(folder)
    if not (folder / "task.toml").is_file():
        return legacy.load_legacy(folder), []
    file = folder / "task.toml"
    parsed, warnings = task_file(file)
    refuse_unsupported(parsed.environment, file, "environment")
    task = _with_services(_task(folder, parsed, env), parsed)
    task, more = _with_solution_env(task, parsed, env, file)
    return task, warnings + more


def _suite(
    folder: Path,
    tasks: tuple[Task, ...],
    refused: tuple[tuple[str, str], ...],
    warnings: tuple[tuple[str, str], ...],
) -> Suite:
    about = SuiteFile()
    if (folder / "suite.toml").is_file():
        about = validated(SuiteFile, parse_toml(folder / "suite.toml"), folder / "suite.toml")
    return Suite(
        name=about.name or folder.resolve().name,
        version=about.version,
        digest=suite_digest((task.name, task.digest) for task in tasks),
        folder=folder,
        tasks=tasks,
        refused=refused,
        warnings=warnings,
        description=about.description,
        licence=about.licence,
        check_headroom=about.check_headroom,
    )


def _task(folder: Path, parsed: TaskFile, env: Mapping[str, str]) -> Task:
    file = folder / "task.toml"
    own = parsed.passhat
    compose = compose_file(folder)
    network = network_of(parsed, file)
    difficulty = parsed.metadata.get("difficulty")
    tags = parsed.metadata.get("tags", parsed.task.keywords)
    return Task(
        name=parsed.task.name or folder.resolve().name,
        digest=task_digest(folder),
        folder=folder,
        image=image_of(folder, parsed, compose),
        steps=_steps(folder, parsed, env),
        asked=asked_of(parsed.environment, file, "environment", own),
        network=network,
        env=fill_templates(parsed.environment.env, env, file, "environment.env"),
        workdir=parsed.environment.workdir,
        healthcheck=healthcheck_of(parsed.environment.healthcheck),
        reward_strategy=parsed.multi_step_reward_strategy,
        cluster=own.cluster if own else None,
        difficulty=str(difficulty) if difficulty is not None else None,
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list | tuple) else (),
        metadata=parsed.metadata,
        capabilities=own.capabilities if own else (),
        read_only=own.read_only if own else False,
        compose_file=compose,
        simulated_user=own.simulated_user.model_dump() if own and own.simulated_user else None,
        setup_timeout_s=own.setup_timeout_sec if own else 300.0,
        version=parsed.task.version,
        source=parsed.source,
    )


def _with_services(task: Task, parsed: TaskFile) -> Task:
    """The task with what its compose file adds; what task.toml says stands before it."""
    if task.compose_file is not None:
        own = {
            "PREBUILT_IMAGE_NAME": parsed.environment.docker_image or "main",
            "CPUS": f"{task.asked.cpus or 1:g}",
            "MEMORY": f"{task.asked.memory_mb or 2048}M",
        }
        task = with_compose(task, own, parsed.environment.build_timeout_sec)
    check_services(task)
    return task


def _steps(folder: Path, parsed: TaskFile, env: Mapping[str, str]) -> tuple[Step, ...]:
    if parsed.steps:
        names = [table.name for table in parsed.steps]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise refuse(folder / "task.toml", "steps.name", double, "two steps have this name: rename one")
        return tuple(_step(folder, parsed, table, env) for table in parsed.steps)
    grading = grading_fields.grading_of(folder, parsed, None, env)
    return (
        Step(
            name="",
            instruction=without_canary(read_text(folder / "instruction.md")),
            grading=grading,
            agent_timeout_s=parsed.agent.timeout_sec,
            agent_user=_user(parsed.agent.user),
            solution_dir=_folder(folder / "solution"),
            artifacts=artifacts_of(parsed, None, folder / "task.toml"),
        ),
    )


def _step(folder: Path, parsed: TaskFile, table: StepTable, env: Mapping[str, str]) -> Step:
    place = folder / "steps" / table.name
    agent = table.agent or parsed.agent
    if table.agent is not None and table.agent.network_mode not in (None, parsed.agent.network_mode):
        key = f"steps.{table.name}.agent.network_mode"
        raise refuse(
            folder / "task.toml",
            key,
            table.agent.network_mode,
            "one network for all steps: set it in [agent]",
        )
    return Step(
        name=table.name,
        instruction=without_canary(read_text(place / "instruction.md")),
        grading=grading_fields.grading_of(folder, parsed, table, env),
        agent_timeout_s=agent.timeout_sec or parsed.agent.timeout_sec,
        agent_user=_user(agent.user if agent.user is not None else parsed.agent.user),
        solution_dir=_folder(place / "solution"),
        workdir_dir=_folder(place / "workdir"),
        healthcheck=healthcheck_of(table.healthcheck),
        min_reward=table.min_reward,
        artifacts=artifacts_of(parsed, table, folder / "task.toml"),
    )


def _with_solution_env(task: Task, parsed: TaskFile, env: Mapping[str, str], file: Path) -> tuple[Task, list[str]]:
    """The solution's variables; one that is not set costs the oracle, not the task, so it only warns."""
    try:
        filled = fill_templates(parsed.solution.env, env, file, "solution.env")
    except TaskError as error:
        return task, [f"{error}; without it the oracle cannot solve this task"]
    return replace(task, solution_env=filled), []


def _user(user: str | int | None) -> str | None:
    return None if user is None else str(user)


def _folder(path: Path) -> Path | None:
    return path if path.is_dir() else None
