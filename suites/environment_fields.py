"""What task.toml says about the environment: image, resources, network, artifacts, health check."""

import posixpath
from pathlib import Path

import yaml

from sandboxes.base import ImageSource, NetworkSpec
from sandboxes.forwarder import entry
from suites.errors import TaskError, refuse
from suites.reading import read_text, size_mb
from suites.task import ArtifactSpec, Asked, Healthcheck
from suites.task_file import (
    ArtifactTable,
    EnvironmentTable,
    HealthcheckTable,
    PasshatTable,
    StepTable,
    TaskFile,
)

COMPOSE_FILES = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
MODES = {"public": "public", "no-network": "none", "allowlist": "allowlist"}


def compose_file(folder: Path) -> Path | None:
    """The compose file of a task, if it has one."""
    return next((f for name in COMPOSE_FILES if (f := folder / "environment" / name).is_file()), None)


def refuse_unsupported(table: EnvironmentTable, file: Path, key: str) -> None:
    """Refuse by name what the format knows and a sandbox here cannot do."""
    if table.os != "linux":
        raise refuse(file, f"{key}.os", table.os, 'only "linux" containers are run')
    if table.gpu_types:
        raise refuse(file, f"{key}.gpu_types", table.gpu_types, "no type can be asked for: use gpus alone")
    if table.mcp_servers:
        raise refuse(file, f"{key}.mcp_servers", table.mcp_servers, "tool servers are not started: remove it")
    if table.skills_dir:
        raise refuse(file, f"{key}.skills_dir", table.skills_dir, "skills are the agent's own: remove it")


def image_of(folder: Path, parsed: TaskFile, compose: Path | None) -> ImageSource:
    """The image of the agent's container: docker_image, else environment/Dockerfile, else compose's own."""
    table, file = parsed.environment, folder / "task.toml"
    dockerfile = folder / "environment" / "Dockerfile"
    if table.docker_image is not None:
        if not table.docker_image.strip():
            raise refuse(file, "environment.docker_image", table.docker_image, "name an image with tag or digest")
        return ImageSource(reference=table.docker_image, build_timeout_s=table.build_timeout_sec)
    if dockerfile.is_file():
        wheels = _wheels(parsed, dockerfile.parent.resolve(), file)
        return ImageSource(
            dockerfile_dir=str(dockerfile.parent.resolve()),
            wheels=wheels,
            build_timeout_s=table.build_timeout_sec,
        )
    if compose is not None:
        return image_of_service(compose, "main", table.build_timeout_sec)
    raise TaskError(f"{file}: there is neither environment/Dockerfile nor the key 'environment.docker_image': give one")


def _wheels(parsed: TaskFile, context: Path, file: Path) -> str | None:
    named = parsed.passhat.wheels if parsed.passhat else None
    if named is None:
        return None
    if not (context / named).is_file():
        raise refuse(file, "passhat.wheels", named, f"there is no such file in {context}")
    return str(context / named)


def image_of_service(compose: Path, service: str, build_timeout_s: float) -> ImageSource:
    """The image that a compose file itself gives to the agent's service."""
    try:
        tables = yaml.safe_load(read_text(compose))
        main = tables["services"][service]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise TaskError(f"{compose}: no service {service!r} could be read from it ({error}): add it") from error
    main = main or {}
    image, build = main.get("image"), main.get("build")
    if isinstance(image, str) and "$" not in image:
        return ImageSource(reference=image, build_timeout_s=build_timeout_s)
    context = build.get("context", ".") if isinstance(build, dict) else build
    if isinstance(context, str) and "$" not in context:
        place = (compose.parent / context).resolve()
        if (place / "Dockerfile").is_file():
            return ImageSource(dockerfile_dir=str(place), build_timeout_s=build_timeout_s)
    raise TaskError(f"{compose}: service {service!r} has no image and no build folder with a Dockerfile: give one")


def asked_of(table: EnvironmentTable, file: Path, key: str, own: PasshatTable | None) -> Asked:
    """The resources a table asks for; a legacy size beside the new key must agree with it."""
    return Asked(
        cpus=table.cpus,
        memory_mb=_size(table.memory_mb, table.memory, file, f"{key}.memory"),
        storage_mb=_size(table.storage_mb, table.storage, file, f"{key}.storage"),
        shm_mb=own.shm_mb if own else None,
        pids=own.pids if own else None,
        gpus=table.gpus,
    )


def network_of(parsed: TaskFile, file: Path) -> NetworkSpec:
    """Who the agent's container can reach. Without a word: public, but none for a task of ours."""
    own, agent, base = parsed.passhat, parsed.agent, parsed.environment
    if own is not None and own.network is not None:
        return network_spec(own.network, own.allowed_hosts, file, "passhat.network")
    if agent.network_mode is not None:
        return network_spec(agent.network_mode, agent.allowed_hosts, file, "agent.network_mode")
    if agent.allowed_hosts:
        raise refuse(file, "agent.allowed_hosts", agent.allowed_hosts, 'it needs network_mode = "allowlist"')
    return environment_network(base, file, "environment") or NetworkSpec("public" if own is None else "none")


def environment_network(table: EnvironmentTable, file: Path, key: str) -> NetworkSpec | None:
    """What an environment table says about its network; None when it says nothing."""
    mode: str | None = table.network_mode
    if table.allow_internet is not None:
        legacy = "public" if table.allow_internet else "no-network"
        if mode not in (None, legacy):
            raise refuse(file, f"{key}.allow_internet", table.allow_internet, f"network_mode says {mode!r}: keep one")
        mode = mode or legacy
    if mode is None:
        if table.allowed_hosts:
            remedy = 'it needs network_mode = "allowlist"'
            raise refuse(file, f"{key}.allowed_hosts", table.allowed_hosts, remedy)
        return None
    return network_spec(mode, table.allowed_hosts, file, f"{key}.network_mode")


def network_spec(mode: str, hosts: tuple[str, ...], file: Path, key: str) -> NetworkSpec:
    if mode == "allowlist" and not hosts:
        raise refuse(file, key, mode, "it needs allowed_hosts")
    if mode != "allowlist" and hosts:
        raise refuse(file, key, mode, "allowed_hosts has no effect with it: remove one")
    for host in hosts:
        try:
            entry(host)
        except ValueError as error:
            remedy = f"{error}: write host, *.domain, or either with :port"
            raise refuse(file, key.rpartition(".")[0] + ".allowed_hosts", hosts, remedy) from error
    return NetworkSpec(MODES[mode], hosts)


def healthcheck_of(table: HealthcheckTable | None) -> Healthcheck | None:
    if table is None:
        return None
    return Healthcheck(
        command=table.command,
        interval_s=table.interval_sec,
        timeout_s=table.timeout_sec,
        start_period_s=table.start_period_sec,
        start_interval_s=table.start_interval_sec,
        retries=table.retries,
    )


def artifacts_of(parsed: TaskFile, step: StepTable | None, file: Path) -> tuple[ArtifactSpec, ...]:
    """The root's artifacts, ours, then the step's; a relative path is taken from [environment].workdir."""
    tables = parsed.artifacts + (parsed.passhat.artifacts if parsed.passhat else ())
    if step is not None:
        tables += step.artifacts
    workdir = parsed.environment.workdir
    found = []
    for table in tables:
        table = ArtifactTable(source=table) if isinstance(table, str) else table
        destination = None
        if table.destination is not None:
            destination = _absolute(table.destination, workdir, file, "artifacts.destination")
        source = _absolute(table.source, workdir, file, "artifacts.source")
        found.append(ArtifactSpec(source, destination, table.exclude, table.service))
    return tuple(found)


def _absolute(path: str, workdir: str | None, file: Path, key: str) -> str:
    if not path.startswith("/") and workdir is None:
        raise refuse(file, key, path, "a relative path needs [environment].workdir: write it absolute")
    joined = posixpath.normpath(posixpath.join(workdir or "/", path))
    if ".." in path.split("/") or joined.strip("/") == "":
        raise refuse(file, key, path, "it must be a path below / without '..'")
    return "/" + joined.strip("/")


def _size(mb: int | None, text: str | None, file: Path, key: str) -> int | None:
    if text is None:
        return mb
    parsed = size_mb(text, file, key)
    if mb not in (None, parsed):
        raise refuse(file, key, text, f"the newer key {key}_mb says {mb}: keep one")
    return parsed
