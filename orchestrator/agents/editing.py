"""The text editor tool's commands as functions on text. Pure; knows no sandbox."""

from collections.abc import Mapping, Sequence


class EditError(ValueError):
    """An edit that cannot be done; the message is for the model."""


def replace_once(text: str, old: str, new: str) -> str:
    """Replace the one place where `old` stands. Raises EditError where it is not exactly one."""
    if not old:
        raise EditError("old_str is empty; to add text use insert, to write a whole file use create")
    found = text.count(old)
    if found == 0:
        raise EditError("old_str was not found; it must match the file exactly, white space included")
    if found > 1:
        lines = [text[:at].count("\n") + 1 for at in _places(text, old)]
        raise EditError(f"old_str was found {found} times, at lines {lines}; make it longer so that it is unique")
    return text.replace(old, new, 1)


def insert_after(text: str, line: int, new: str) -> str:
    """Insert lines after line `line`, counted from 1; 0: before the first."""
    lines = text.splitlines(keepends=True)
    if not 0 <= line <= len(lines):
        raise EditError(f"insert_line {line} is outside of the file, which has {len(lines)} lines")
    if line and not lines[line - 1].endswith("\n"):
        lines[line - 1] += "\n"
    addition = new if new.endswith("\n") or line == len(lines) else new + "\n"
    return "".join([*lines[:line], addition, *lines[line:]])


def numbered(text: str, view_range: object = None) -> str:
    """The text with line numbers, or lines [first, last] of it; last -1: to the end."""
    lines = text.splitlines()
    first, last = 1, len(lines)
    if view_range is not None:
        if not (
            isinstance(view_range, Sequence) and len(view_range) == 2 and all(isinstance(n, int) for n in view_range)
        ):
            raise EditError("view_range must be two numbers, [first, last]")
        first, last = view_range[0], len(lines) if view_range[1] == -1 else view_range[1]
        if not 1 <= first <= max(len(lines), 1) or last < first:
            raise EditError(f"view_range {list(view_range)} does not fit a file of {len(lines)} lines")
    return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines[first - 1 : last], first))


def wanted_text(given: Mapping[str, object], name: str) -> str:
    """A parameter that must be there and be text. Raises EditError."""
    value = given.get(name)
    if not isinstance(value, str):
        raise EditError(f"parameter {name} is missing or is not text")
    return value


def wanted_number(given: Mapping[str, object], name: str) -> int:
    """A parameter that must be there and be a whole number. Raises EditError."""
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise EditError(f"parameter {name} is missing or is not a whole number")
    return value


def _places(text: str, old: str) -> list[int]:
    places, at = [], text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places
