"""A task's docker-compose.yaml -> the services beside the agent's container, or one sentence why not.

A validated subset: what a trial can give is taken, what would reach the host, or would have no effect that
its author counts on, is refused by name. Pure but for reads.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from sandboxes.base import ImageSource
from sandboxes.docker_options import DEFAULT_CAPABILITIES
from sandboxes.sidecar import Program
from suites import compose_fields as fields
from suites.compose_fields import interpolated
from suites.errors import TaskError, refuse
from suites.reading import read_text, size_mb
from suites.task import Asked, Healthcheck, Service, Task

DEFAULT_CPUS = 0.5
DEFAULT_MEMORY_MB = 512
IGNORED_TOP = {"version", "name", "services", "networks"}
VARIABLES = {
    "CONTEXT_DIR": ".",
    "MAIN_IMAGE_NAME": "main",
    **{
        f"{side}_{name}_PATH": path
        for side in ("HOST", "ENV")
        for name, path in (
            ("VERIFIER_LOGS", "/logs/verifier"),
            ("AGENT_LOGS", "/logs/agent"),
            ("ARTIFACTS", "/logs/artifacts"),
        )
    },
}
WAITS = re.compile(r"^\W*((/bin/)?(ba)?sh\W+-l?c\W+)?(exec )?(sleep \S+|tail -f /dev/null|(ba)?sh)\W*$")


@dataclass(frozen=True, slots=True)
class Composed:
    """What a compose file adds to a task: its services, and what it says of the agent's own.

    `waits_for` are (service, condition) that must hold before the agent starts.
    """

    services: tuple[Service, ...] = ()
    main_env: Mapping[str, str] = field(default_factory=dict)
    main_aliases: tuple[str, ...] = ()
    main_healthcheck: Healthcheck | None = None
    waits_for: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a compose file is read with: the agent's service, variables, and capabilities the task declares."""

    main: str
    variables: Mapping[str, str]
    capabilities: tuple[str, ...] = ()
    build_timeout_s: float = 600.0


def with_compose(task: Task, own: Mapping[str, str], build_timeout_s: float = 600.0) -> Task:
    """A task with the services of its compose file; `own` are variables beside the usual ones."""
    assert task.compose_file is not None
    variables = {**VARIABLES, **own, **task.env}
    given = Given(task.main_service, variables, task.capabilities, build_timeout_s)
    composed = read_compose(task.compose_file, given)
    return replace(
        task,
        services=composed.services,
        env={**composed.main_env, **task.env},
        healthcheck=task.healthcheck or composed.main_healthcheck,
        main_aliases=composed.main_aliases,
        waits_for=composed.waits_for,
    )


def check_services(task: Task) -> None:
    """Refuse artifacts and collect hooks of a service that is not there. Raises TaskError."""
    known = {"main", task.main_service, *(service.name for service in task.services)}
    for step in task.steps:
        for name in (*(a.service for a in step.artifacts), *(h.service for h in step.grading.collect)):
            if name not in known:
                raise refuse(task.folder / "task.toml", "service", name, f"there is only {', '.join(sorted(known))}")


def read_compose(file: Path, given: Given) -> Composed:
    """The services of a compose file. Raises TaskError."""
    try:
        tables = yaml.safe_load(read_text(file))
    except yaml.YAMLError as error:
        raise TaskError(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(tables, dict) or not isinstance(tables.get("services"), dict):
        raise TaskError(f"{file} has no table 'services': describe the service {given.main!r} there")
    for key in tables:
        if key not in IGNORED_TOP and not str(key).startswith("x-"):
            raise refuse(file, str(key), "given", "a trial has one private network and no volumes: remove it")
    fields.check_networks(file, "networks", tables.get("networks"))
    raw = {str(name): dict(table or {}) for name, table in tables["services"].items()}
    if given.main not in raw:
        raise TaskError(f"{file}: there is no service {given.main!r}, which is the agent's container: add it")
    for name, table in raw.items():
        fields.check_keys(file, name, table, main=name == given.main)
        _check_capabilities(file, name, table, given)
    main = raw.pop(given.main)
    own = interpolated(main, given.variables, file, f"services.{given.main}")
    _check_main(file, given.main, own)
    services = {name: _service(file, name, table, given) for name, table in raw.items()}
    waits_for = fields.depends_on(file, given.main, own, set(services))
    ordered = _ordered(file, services, given.main)
    for other, condition in (*waits_for, *(pair for service in ordered for pair in service.depends_on)):
        if condition == "service_healthy" and (other == given.main or services[other].healthcheck is None):
            remedy = "nobody can tell without a healthcheck: write one in that service"
            raise refuse(file, f"services.{other}.healthcheck", None, remedy)
    return Composed(
        services=ordered,
        main_env=fields.environment(file, given.main, own.get("environment")),
        main_aliases=fields.aliases(file, given.main, own),
        main_healthcheck=_healthcheck(file, given.main, own.get("healthcheck")),
        waits_for=waits_for,
    )


def _check_capabilities(file: Path, name: str, table: Mapping[str, Any], given: Given) -> None:
    declared = {*DEFAULT_CAPABILITIES, *(cap.upper().removeprefix("CAP_") for cap in given.capabilities)}
    for cap in table.get("cap_add") or ():
        if str(cap).upper().removeprefix("CAP_") not in declared:
            key = f"services.{name}.cap_add"
            raise refuse(file, key, cap, "declare it in [passhat] capabilities of task.toml, or remove it")


def _check_main(file: Path, name: str, table: Mapping[str, Any]) -> None:
    """The agent's container waits for commands; a program of its own there would never run."""
    for key in ("command", "entrypoint"):
        value = table.get(key)
        text = shlex.join(map(str, value)) if isinstance(value, list) else str(value or "")
        if text and not WAITS.match(text):
            remedy = "the agent's container only waits for commands: run this in a service of its own"
            raise refuse(file, f"services.{name}.{key}", value, remedy)


def _service(file: Path, name: str, raw: Mapping[str, Any], given: Given) -> Service:
    table = interpolated(raw, given.variables, file, f"services.{name}")
    key = f"services.{name}"
    return Service(
        name=name,
        image=_image(file, name, table, given),
        program=Program(
            entrypoint=fields.words(table.get("entrypoint"), file, f"{key}.entrypoint"),
            command=fields.words(table.get("command"), file, f"{key}.command"),
            user=None if table.get("user") is None else str(table["user"]),
            workdir=table.get("working_dir"),
        ),
        env=fields.environment(file, name, table.get("environment")),
        aliases=fields.aliases(file, name, table),
        hostname=table.get("hostname"),
        asked=_asked(file, name, table),
        healthcheck=_healthcheck(file, name, table.get("healthcheck")),
        depends_on=fields.depends_on(file, name, table, None),
        capabilities=tuple(str(cap) for cap in table.get("cap_add") or ()),
        read_only=bool(table.get("read_only", False)),
        tmpfs=fields.paths(table.get("tmpfs"), file, f"{key}.tmpfs"),
        said=bool(fields.limits(table)),
    )


def _image(file: Path, name: str, table: Mapping[str, Any], given: Given) -> ImageSource:
    build, image = table.get("build"), table.get("image")
    if build is None:
        if not isinstance(image, str) or not image.strip():
            raise refuse(file, f"services.{name}.image", image, "a service needs an image or a build folder")
        return ImageSource(reference=image, platform=table.get("platform"), build_timeout_s=given.build_timeout_s)
    asked = build if isinstance(build, dict) else {"context": build}
    for key in asked:
        if key not in ("context", "args", "dockerfile"):
            raise refuse(file, f"services.{name}.build.{key}", asked[key], "only context and args are known: remove it")
    if asked.get("dockerfile", "Dockerfile") not in ("Dockerfile", "./Dockerfile"):
        remedy = "give each image a folder of its own, with a file named Dockerfile"
        raise refuse(file, f"services.{name}.build.dockerfile", asked["dockerfile"], remedy)
    place = (file.parent / str(asked.get("context", "."))).resolve()
    if not place.is_relative_to(file.parent.resolve()) or not (place / "Dockerfile").is_file():
        remedy = f"it must be a folder below {file.parent} that holds a Dockerfile"
        raise refuse(file, f"services.{name}.build.context", asked.get("context", "."), remedy)
    return ImageSource(
        dockerfile_dir=str(place),
        build_args=fields.environment(file, name, asked.get("args")),
        platform=table.get("platform"),
        build_timeout_s=given.build_timeout_s,
    )


def _asked(file: Path, name: str, table: Mapping[str, Any]) -> Asked:
    """The promise of a service: its limits in the compose file, else a small one."""
    said = fields.limits(table)
    try:
        cpus = float(said.get("cpus", DEFAULT_CPUS))
    except (TypeError, ValueError):
        raise refuse(file, f"services.{name}.cpus", said["cpus"], "write a number of cores, such as 0.5") from None
    memory = said.get("memory")
    return Asked(
        cpus=cpus if cpus > 0 else DEFAULT_CPUS,
        memory_mb=_mb(memory, file, f"services.{name}.memory") if memory is not None else DEFAULT_MEMORY_MB,
        shm_mb=_mb(table["shm_size"], file, f"services.{name}.shm_size") if "shm_size" in table else None,
        pids=int(table["pids_limit"]) if table.get("pids_limit") else None,
    )


def _mb(value: object, file: Path, key: str) -> int:
    return size_mb(str(value), file, key)


def _healthcheck(file: Path, name: str, table: Any) -> Healthcheck | None:
    if table is None or fields.is_disabled(table):
        return None
    key = f"services.{name}.healthcheck"
    test = table.get("test")
    if isinstance(test, list) and test and test[0] in ("CMD", "CMD-SHELL"):
        words = [str(word) for word in test[1:]]
        command = words[0] if test[0] == "CMD-SHELL" and words else shlex.join(words)
    elif isinstance(test, str):
        command = test
    else:
        raise refuse(file, f"{key}.test", test, 'write ["CMD", ...], ["CMD-SHELL", "..."] or a line')

    def seconds(word: str, default: float) -> float:
        return fields.seconds(table[word], file, f"{key}.{word}") if word in table else default

    return Healthcheck(
        command=command,
        interval_s=seconds("interval", 30.0),
        timeout_s=seconds("timeout", 30.0),
        start_period_s=seconds("start_period", 0.0),
        start_interval_s=seconds("start_interval", 5.0),
        retries=int(table.get("retries", 3)),
    )


def _ordered(file: Path, services: Mapping[str, Service], main: str) -> tuple[Service, ...]:
    """Each service after those it waits for."""
    done: dict[str, Service] = {}
    left = dict(services)
    while left:
        ready = [name for name, service in left.items() if all(n in done or n == main for n, _ in service.depends_on)]
        if not ready:
            names = ", ".join(sorted(left))
            raise TaskError(
                f"{file}: the services {names} wait for each other, or for one that is not there: mend depends_on"
            )
        for name in ready:
            done[name] = left.pop(name)
    return tuple(done.values())
