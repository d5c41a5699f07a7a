"""The one error of loading: a task or suite that cannot be used as it is written."""

from pathlib import Path


class TaskError(ValueError):
    """One sentence: the file and key, what was asked, what was found, and what to do."""


def refuse(file: Path | str, key: str, found: object, remedy: str) -> TaskError:
    """The error for one key of one file; `found` is quoted, and cut where it is long."""
    shown = repr(found)
    if len(shown) > 120:
        shown = shown[:117] + "..."
    return TaskError(f"{file}: key {key!r} is {shown}: {remedy}")
