"""From a file's text to typed tables, with one sentence for whatever is wrong in it. Knows no folder."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from suites.errors import TaskError, refuse
from suites.task_file import OwnTable, TaskFile, unknown_keys

MAX_FILE_BYTES = 4_000_000
TEMPLATE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
CANARY = re.compile(r"^(<!--.*canary.*-->|#.*canary.*)$", re.IGNORECASE)
SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*$", re.IGNORECASE)
MB_PER = {"": 1 / 1024**2, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}
Table = TypeVar("Table", bound=BaseModel)


class SuiteFile(OwnTable):
    """suite.toml: what the folder of a suite may say about itself.

    check_headroom: limit over promise at which the oracle must pass every task, for `passhat suite check`.
    """

    name: str | None = None
    version: str = "1"
    description: str = ""
    licence: str | None = None
    check_headroom: Annotated[float, Field(ge=1)] | Literal["uncapped"] = 1.0


def read_text(file: Path) -> str:
    """A file's text; TaskError when it is missing, too large or not UTF-8."""
    if not file.is_file():
        raise TaskError(f"{file} is asked for and is not there: write it")
    if file.stat().st_size > MAX_FILE_BYTES:
        raise TaskError(f"{file} has {file.stat().st_size} bytes, at most {MAX_FILE_BYTES} are read: shorten it")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(f"{file} is not UTF-8 at byte {error.start}: save it as UTF-8") from error


def parse_toml(file: Path) -> dict[str, object]:
    """A TOML file's tables."""
    try:
        return tomllib.loads(read_text(file))
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file} is not TOML: {error}") from error


def validated(model: type[Table], tables: object, file: Path) -> Table:
    """Tables as a typed model; the first thing that is wrong becomes the sentence."""
    try:
        return model.model_validate(tables)
    except ValidationError as error:
        raise TaskError(_sentence(error.errors(include_url=False), file)) from error


def task_file(file: Path) -> tuple[TaskFile, list[str]]:
    """task.toml and one warning that names its unknown keys, if any."""
    tables = parse_toml(file)
    if isinstance(tables.get("version"), float):
        tables["version"] = str(tables["version"])
    parsed = validated(TaskFile, tables, file)
    if not re.fullmatch(r"1(\.\d+)?", parsed.schema_version):
        raise refuse(file, "schema_version", parsed.schema_version, 'only "1.0" to "1.4" can be read')
    unknown = unknown_keys(parsed)
    warnings = [f"{file}: keys that are not known and have no effect: {', '.join(unknown)}"] if unknown else []
    return parsed, warnings


def fill_template(value: str, host: Mapping[str, str], file: Path, key: str) -> str:
    """`${VAR}` and `${VAR:-default}` replaced from `host`; an unset name without a default is refused."""

    def replaced(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        found = host.get(name)
        if found is None or (found == "" and default is not None):
            found = default
        if found is None:
            raise refuse(file, key, value, f"the variable {name} is not set on this host: set it")
        return found

    return TEMPLATE.sub(replaced, value)


def fill_templates(env: Mapping[str, str], host: Mapping[str, str], file: Path, key: str) -> dict[str, str]:
    return {name: fill_template(value, host, file, f"{key}.{name}") for name, value in env.items()}


def without_canary(text: str) -> str:
    """An instruction without its leading canary lines and the blank lines after them."""
    lines = text.splitlines(keepends=True)
    start = 0
    while start < len(lines) and CANARY.match(lines[start].strip()):
        start += 1
    if not start:
        return text
    while start < len(lines) and not lines[start].strip():
        start += 1
    return "".join(lines[start:])


def size_mb(value: str, file: Path, key: str) -> int:
    """A size such as "2G" or "512Mi" in MiB."""
    match = SIZE.match(value)
    number = float(match.group(1)) * MB_PER[match.group(2).upper()] if match else 0.0
    if number < 1:
        raise refuse(file, key, value, 'write a size of at least 1M, such as "512M" or "2G"')
    return int(number)


def _sentence(errors: list[ErrorDetails], file: Path) -> str:
    first = errors[0]
    place = first["loc"]
    key = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".") or "the file"
    if first["type"] == "extra_forbidden":
        return f"{file}: key {key!r} is not known there: remove it, or correct its spelling"
    if first["type"] == "missing":
        return f"{file}: key {key!r} is missing: write it"
    more = f" ({len(errors) - 1} more to correct)" if len(errors) > 1 else ""
    found = repr(first["input"])
    message = first["msg"].removeprefix("Value error, ")
    shown = found if len(found) <= 120 else found[:117] + "..."
    return f"{file}: key {key!r} is {shown}: {message}{more}"
