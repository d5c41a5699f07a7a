"""Single keys of a compose service: which are known, and what their several spellings mean. Pure."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suites.errors import TaskError, refuse

KNOWN = {
    *("image", "build", "command", "entrypoint", "environment", "depends_on", "healthcheck", "user", "working_dir"),
    *("tmpfs", "expose", "hostname", "networks", "container_name", "cap_add", "cap_drop", "read_only", "shm_size"),
    *("cpus", "mem_limit", "mem_reservation", "pids_limit", "deploy", "platform", "volumes"),
}
NO_EFFECT = {
    *("pull_policy", "stdin_open", "tty", "init", "labels", "logging", "stop_grace_period", "stop_signal", "restart"),
}
UNSAFE = {
    "privileged": "it would give the service the host: remove it",
    "network_mode": "a trial has its own private network: remove it",
    "ports": "nothing of a trial is opened on the host; services reach each other by name: use expose",
    "pid": "it would show the service the processes of others: remove it",
    "ipc": "it would share memory with others: remove it",
    "devices": "no device of the host is given: remove it",
    "security_opt": "the default profile stays in force: remove it",
    "volumes": "nothing of the host is mounted: copy it into the image",
}
CONDITIONS = ("service_started", "service_healthy", "service_completed_successfully")
LOG_MOUNT = re.compile(r"^\$\{(HOST_(VERIFIER_LOGS|AGENT_LOGS|ARTIFACTS)_PATH|T_BENCH_TASK_(AGENT_)?LOGS_PATH)\}")
VARIABLE = re.compile(r"\$(?:\$|\{([A-Za-z_]\w*)(?::?-([^}]*))?\}|([A-Za-z_]\w*))")
DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def check_keys(file: Path, name: str, table: Mapping[str, Any], main: bool) -> None:
    """Refuse by name what is unsafe or not known. Mounts of the log folders, which every task has, pass."""
    for key, value in table.items():
        place = f"services.{name}.{key}"
        if key == "volumes":
            mounts = [] if main and all(LOG_MOUNT.match(str(m)) for m in value or ()) else value
            if mounts:
                raise refuse(file, place, mounts, UNSAFE[key])
        elif key in UNSAFE and value not in (None, False, [], ""):
            raise refuse(file, place, value, UNSAFE[key])
        elif key not in KNOWN | NO_EFFECT | set(UNSAFE) and not key.startswith("x-"):
            raise refuse(file, place, value, "it cannot be given to a trial: remove it")
    check_networks(file, f"services.{name}.networks", table.get("networks"))


def check_networks(file: Path, key: str, networks: Any) -> None:
    """Only the default network may be named: all services of a trial share one."""
    for network in networks or ():
        if network != "default":
            raise refuse(file, key, network, "all services of a trial share one network: remove it")


def interpolated(value: Any, variables: Mapping[str, str], file: Path, key: str) -> Any:
    """`${VAR}`, `${VAR:-default}`, `$VAR` and `$$` in every text of a table. The host's own are not seen."""
    if isinstance(value, dict):
        return {k: interpolated(v, variables, file, f"{key}.{k}") for k, v in value.items() if k != "volumes"}
    if isinstance(value, list):
        return [interpolated(item, variables, file, key) for item in value]
    if not isinstance(value, str):
        return value

    def replaced(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        name = match.group(1) or match.group(3)
        found = variables.get(name) or match.group(2)
        if found is None:
            raise refuse(file, key, value, f"the variable {name} has no value here: set it in [environment].env")
        return found

    return VARIABLE.sub(replaced, value)


def environment(file: Path, name: str, value: Any) -> dict[str, str]:
    """Variables from a table or a list of NAME=value."""
    if value is None:
        return {}
    pairs = value.items() if isinstance(value, dict) else [str(item).partition("=")[::2] for item in value]
    found = {}
    for key, text in pairs:
        if text is None:
            raise refuse(
                file, f"services.{name}.environment.{key}", None, "variables of the host are not given: write it"
            )
        found[str(key)] = str(text).lower() if isinstance(text, bool) else str(text)
    return found


def words(value: Any, file: Path, key: str) -> tuple[str, ...] | None:
    """A command as a list, or as a line that is split as a shell would."""
    if value is None:
        return None
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    try:
        return tuple(shlex.split(str(value)))
    except ValueError as error:
        raise refuse(file, key, value, f"it cannot be split into words ({error})") from error


def paths(value: Any, file: Path, key: str) -> tuple[str, ...]:
    """Folders kept in memory; options behind a colon have no effect, ours stand."""
    found = tuple(str(item).partition(":")[0] for item in ([value] if isinstance(value, str) else value or ()))
    wrong = next((path for path in found if not path.startswith("/")), None)
    if wrong is not None:
        raise refuse(file, key, wrong, "write an absolute path")
    return found


def aliases(file: Path, name: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    """Every name under which others find the service."""
    networks = table.get("networks")
    more = (networks.get("default") or {}).get("aliases", ()) if isinstance(networks, dict) else ()
    named = [name, table.get("container_name"), table.get("hostname"), *more]
    return tuple(dict.fromkeys(str(item) for item in named if item))


def depends_on(file: Path, name: str, table: Mapping[str, Any], known: set[str] | None) -> tuple[tuple[str, str], ...]:
    """(service, condition) pairs; `known` None: names are checked later."""
    value = table.get("depends_on") or {}
    items = value if isinstance(value, dict) else {str(item): {} for item in value}
    found = []
    for other, how in items.items():
        condition = (how or {}).get("condition", "service_started")
        if condition not in CONDITIONS:
            raise refuse(file, f"services.{name}.depends_on.{other}", condition, f"use one of {', '.join(CONDITIONS)}")
        if known is not None and other not in known:
            raise TaskError(f"{file}: service {name!r} depends on {other!r}, and there is no such service: add it")
        found.append((str(other), str(condition)))
    return tuple(found)


def limits(table: Mapping[str, Any]) -> dict[str, Any]:
    """cpus and memory as far as they are said, `deploy` before the older keys."""
    found = {}
    for new, old in (("cpus", "cpus"), ("memory", "mem_limit")):
        deploy = ((table.get("deploy") or {}).get("resources") or {}).get("limits") or {}
        value = deploy.get(new, table.get(old))
        if value is not None:
            found[new] = value
    return found


def is_disabled(table: Any) -> bool:
    return isinstance(table, dict) and (table.get("disable") is True or table.get("test") in ("NONE", ["NONE"]))


def seconds(value: Any, file: Path, key: str) -> float:
    """A duration such as 1m30s."""
    text = str(value)
    parts = DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise refuse(file, key, value, "write a duration such as 500ms, 5s or 1m30s")
    return sum(float(number) * UNITS[unit] for number, unit in parts)
