"""What task.toml says about grading: mode, graders, tests, image and network of a separate grader."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from sandboxes.base import ImageSource, NetworkSpec
from suites.environment_fields import (
    artifacts_of,
    asked_of,
    environment_network,
    network_of,
    network_spec,
    refuse_unsupported,
)
from suites.errors import TaskError, refuse
from suites.reading import fill_templates
from suites.task import Asked, CollectHook, GraderSpec, Grading
from suites.task_file import EnvironmentTable, StepTable, TaskFile, VerifierTable

RUNS_TESTS = ("reward", "tests", "pytest")


def grading_of(folder: Path, parsed: TaskFile, step: StepTable | None, host: Mapping[str, str]) -> Grading:
    """The grading of a single-step task (`step` None) or of one step.

    A step's `[verifier]` stands in the place of the root's, key by key.
    """
    file = folder / "task.toml"
    verifier = _merged(parsed.verifier, step.verifier if step else None)
    graders = _graders(parsed)
    mode = _mode(parsed, verifier)
    root_tests, tests = _tests(folder, step)
    needs_tests = any(grader.kind in RUNS_TESTS for grader in graders)
    image = _image(folder, verifier, mode, tests)
    if needs_tests:
        _check_script(file, root_tests, tests)
    if mode == "separate" and not artifacts_of(parsed, step, file):
        raise TaskError(f"{file}: a separate grader sees only declared artifacts, and none is: add 'artifacts'")
    env = dict(verifier.env)
    if verifier.environment is not None:
        env = {**verifier.environment.env, **env}
    return Grading(
        mode=mode,
        graders=graders,
        tests_dir=tests,
        shared_tests_dir=root_tests,
        timeout_s=verifier.timeout_sec,
        env=fill_templates(env, host, file, "verifier.env"),
        user=None if verifier.user is None else str(verifier.user),
        image=image,
        network=_network(parsed, verifier, mode, file),
        collect=tuple(
            CollectHook(c.command, c.service, c.timeout_sec, None if c.user is None else str(c.user))
            for c in verifier.collect
        ),
        asked=asked_of(verifier.environment, file, "verifier.environment", None) if verifier.environment else None,
        image_env=parsed.passhat is None or parsed.passhat.image_env,
        workdir=verifier.environment.workdir if verifier.environment else None,
    )


def _asked(verifier: VerifierTable, file: Path) -> Asked | None:
    if verifier.environment is None:
        return None
    return asked_of(verifier.environment, file, "verifier.environment", None)


def _merged(root: VerifierTable, step: VerifierTable | None) -> VerifierTable:
    if step is None:
        return root
    given = {name: getattr(step, name) for name in step.model_fields_set if name in VerifierTable.model_fields}
    return root.model_copy(update=given)


def _graders(parsed: TaskFile) -> tuple[GraderSpec, ...]:
    tables: tuple[BaseModel, ...] = parsed.passhat.graders if parsed.passhat else ()
    if not tables:
        return (GraderSpec(),)
    return tuple(
        GraderSpec(str(settings["kind"]), {k: v for k, v in settings.items() if k != "kind"})
        for settings in (table.model_dump() for table in tables)
    )


def _mode(parsed: TaskFile, verifier: VerifierTable) -> str:
    if parsed.passhat is not None and parsed.passhat.grading is not None:
        return parsed.passhat.grading
    if verifier.environment_mode is not None:
        return verifier.environment_mode
    return "separate" if verifier.environment is not None else "shared"


def _tests(folder: Path, step: StepTable | None) -> tuple[Path | None, Path | None]:
    """(the root's tests copied first, the tests copied last)"""
    root = folder / "tests" if (folder / "tests").is_dir() else None
    if step is None:
        return None, root
    own = folder / "steps" / step.name / "tests"
    return (root, own) if own.is_dir() else (None, root)


def _check_script(file: Path, root_tests: Path | None, tests: Path | None) -> None:
    places = [place for place in (tests, root_tests) if place is not None]
    if not any((place / "test.sh").is_file() for place in places):
        raise TaskError(f"{file}: the task has no tests/test.sh, which its grader runs: write it")


def _image(folder: Path, verifier: VerifierTable, mode: str, tests: Path | None) -> ImageSource | None:
    """The grader's own image; None: the task's."""
    file, table = folder / "task.toml", verifier.environment
    if mode == "shared":
        if table is not None:
            remedy = 'shared grading has no container of its own: use environment_mode = "separate"'
            raise refuse(file, "verifier.environment", "a table", remedy)
        return None
    table = table or EnvironmentTable()
    refuse_unsupported(table, file, "verifier.environment")
    if table.healthcheck is not None:
        raise refuse(file, "verifier.environment.healthcheck", "a table", "a grader is not waited for: remove it")
    if table.docker_image is not None:
        return ImageSource(reference=table.docker_image, build_timeout_s=table.build_timeout_sec)
    if tests is not None and (tests / "Dockerfile").is_file():
        return ImageSource(dockerfile_dir=str(tests.resolve()), build_timeout_s=table.build_timeout_sec)
    return None


def _network(parsed: TaskFile, verifier: VerifierTable, mode: str, file: Path) -> NetworkSpec:
    agents = network_of(parsed, file)
    own: NetworkSpec | None = None
    if verifier.network_mode is not None:
        own = network_spec(verifier.network_mode, verifier.allowed_hosts, file, "verifier.network_mode")
    elif verifier.allowed_hosts:
        raise refuse(file, "verifier.allowed_hosts", verifier.allowed_hosts, 'it needs network_mode = "allowlist"')
    if mode == "shared":
        if own is not None and own != agents:
            remedy = f"the shared container has {agents.mode!r} for the agent: use the same, or separate grading"
            raise refuse(file, "verifier.network_mode", verifier.network_mode, remedy)
        return agents
    if own is None and verifier.environment is not None:
        own = environment_network(verifier.environment, file, "verifier.environment")
    return own or (agents if parsed.passhat is None else NetworkSpec("none"))
