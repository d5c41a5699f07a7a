"""The faults a model found in a sweep file -> one sentence for each key, naming file, key, value and what is allowed."""

import re
from collections.abc import Mapping, Sequence

_TRIED = re.compile(r"^(function-|constrained-|literal\[|(str|int|float|bool|tuple)$)")


def sentences(source: str, faults: list[dict[str, object]]) -> list[str]:
    """One for each key: what every kind of value it could have had says of it, joined by "or"."""
    by_key: dict[str, list[dict[str, object]]] = {}
    for fault in faults:
        by_key.setdefault(_key(fault), []).append(fault)
    kept = {
        key: found
        for key, found in by_key.items()
        if found[0]["type"] != "too_short" or not any(other.startswith(f"{key}.") for other in by_key)
    }
    return [_sentence(source, key, found) for key, found in kept.items()]


def _key(fault: Mapping[str, object]) -> str:
    """The key as it stands in the file, without the names that say which kind of value was tried."""
    location = fault["loc"]
    assert isinstance(location, Sequence)
    parts = [str(part) for part in location if not _TRIED.match(str(part))]
    if len(parts) > 2 and parts[0] == "agents":
        del parts[2]
    return ".".join(parts) or "(whole file)"


def _sentence(source: str, key: str, faults: list[dict[str, object]]) -> str:
    fault = faults[0]
    if fault["type"] == "extra_forbidden":
        return f"{source}: {key} is not a key of a sweep file; see `passhat schema` for those that are"
    if fault["type"] == "missing":
        return f"{source}: {key} is missing; see `passhat init` for an example"
    message = "; or ".join(str(each["msg"]).removeprefix("Value error, ") for each in faults)
    shown = "" if isinstance(fault.get("input"), dict) else f" = {fault.get('input')!r}"
    return f"{source}: {key}{shown}: {message}"
