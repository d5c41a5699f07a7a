"""An end state compared with its goal: the tables of a SQLite database, the files of a folder, and facts.

The database is read here, outside the sandbox, from a copy, with its schema not trusted. Whatever an
agent can cause (no database, a broken one) is a failure, never an error of the grader.
"""

import hashlib
import json
import posixpath
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suites.evidence import Evidence, EvidenceError
from suites.facts import is_told
from suites.grader_settings import StateSettings
from suites.grading import Verdict, no_verdict

MAX_STATE_BYTES = 64_000_000
MAX_WORDS_BYTES = 4_000_000
MAX_STEPS = 50_000_000
SHOWN = 20


class StateError(ValueError):
    """Why a state cannot be read."""


def judge_state(evidence: Evidence, wanted: StateSettings, goal: bytes | None, said: str) -> Verdict:
    """Passed when the end state is the goal state, every fact was told and nothing forbidden was said."""
    differences: list[str] = []
    try:
        if goal is not None:
            differences += _state_differences(evidence, wanted, json.loads(goal))
        said += _written(evidence, wanted.facts_file)
    except (EvidenceError, StateError) as error:
        differences.append(str(error))
    except ValueError as error:
        return no_verdict("state", "malformed", f"the goal tests/{wanted.goal} is not readable: {error}")
    differences += [f"not told: {' / '.join(fact)}" for fact in wanted.facts if not is_told(fact, said)]
    differences += [f"must not be said: {wording}" for wording in wanted.forbidden if is_told([wording], said)]
    passed = not differences
    details = "\n".join(differences[:SHOWN]) or "the end state is the goal state"
    return Verdict(passed, float(passed), {"reward": float(passed)}, grader="state", details=details)


def _written(evidence: Evidence, path: str | None) -> str:
    """What the agent told in a file; a missing file tells nothing, and is no difference by itself."""
    if path is None or not evidence.exists(path):
        return ""
    return "\n" + evidence.read(path, MAX_WORDS_BYTES).decode("utf-8", errors="replace")


def table_differences(tables: Mapping[str, Any], goal: Mapping[str, Any]) -> list[str]:
    """What differs between {table: {"columns": [..], "rows": [[..]]}} and the goal of the same shape.

    Rows are compared as a multiset, so their order says nothing. `goal["ignore"]` maps a table to columns
    that are left out, or to "*" for the whole table.
    """
    ignore = goal.get("ignore", {})
    wanted = goal["tables"]
    found = []
    for name in sorted(set(wanted) | set(tables)):
        left_out = ignore.get(name, [])
        if left_out == "*":
            continue
        if name not in tables or name not in wanted:
            found.append(f"table {name}: {'missing' if name in wanted else 'not in the goal'}")
            continue
        has, goal_rows = _rows(tables[name], left_out), _rows(wanted[name], left_out)
        found += [f"{name}: has {_shown(row)}" for row in (has - goal_rows).elements()]
        found += [f"{name}: lacks {_shown(row)}" for row in (goal_rows - has).elements()]
    return found


def folder_differences(files: Mapping[str, bytes | None], goal: Mapping[str, Any]) -> list[str]:
    """What differs between files by relative path (None: a link) and the goal.

    `goal["files"]` maps a path to {"text": ..}, {"sha256": ..} or null (must not be there); with
    `goal["exact"]` no other file may be there.
    """
    found = []
    for path, want in goal["files"].items():
        have = files.get(path)
        if want is None:
            found += [f"{path}: must not be there"] if path in files else []
        elif path not in files or have is None:
            found.append(f"{path}: missing, or no regular file")
        elif "sha256" in want and hashlib.sha256(have).hexdigest() != want["sha256"]:
            found.append(f"{path}: another content")
        elif "text" in want and have.decode("utf-8", errors="replace").strip() != want["text"].strip():
            found.append(f"{path}: another text")
    if goal.get("exact"):
        found += [f"{path}: not in the goal" for path in sorted(set(files) - set(goal["files"]))]
    return found


def read_tables(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """The tables of a database file with what lies beside it (its journal). Raises StateError."""
    with tempfile.TemporaryDirectory(prefix="passhat-state-") as place:
        for file in (name, f"{name}-wal", f"{name}-journal"):
            if file in files:
                Path(place, file).write_bytes(files[file])
        connection = sqlite3.connect(Path(place, name), isolation_level=None)
        try:
            return _tables(connection)
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise StateError(f"the database cannot be read: {error}") from error
        finally:
            connection.close()


def _tables(connection: sqlite3.Connection) -> dict[str, Any]:
    steps = iter(range(MAX_STEPS // 1000))
    connection.set_progress_handler(lambda: next(steps, None) is None, 1000)
    for setting in ("trusted_schema = 0", "cell_size_check = 1", "query_only = 1"):
        connection.execute(f"PRAGMA {setting}")
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    found = {}
    for (table,) in names:
        quoted = table.replace('"', '""')
        cursor = connection.execute(f'SELECT * FROM "{quoted}"')
        found[table] = {"columns": [column[0] for column in cursor.description], "rows": cursor.fetchall()}
    return found


def _state_differences(evidence: Evidence, wanted: StateSettings, goal: Mapping[str, Any]) -> list[str]:
    if wanted.database is not None:
        parent, name = posixpath.split(wanted.database)
        entries = evidence.folder(parent, MAX_STATE_BYTES)
        files = {
            posixpath.basename(path): entry.data
            for path, entry in entries.items()
            if entry.data is not None and posixpath.dirname(path) == parent
        }
        if name not in files:
            raise StateError(f"{wanted.database} is not there, or no regular file")
        return table_differences(read_tables(files, name), goal)
    folder = str(wanted.folder).rstrip("/")
    below = evidence.folder(folder, MAX_STATE_BYTES)
    return folder_differences(
        {
            posixpath.relpath(path, folder): entry.data
            for path, entry in below.items()
            if entry.data is not None or entry.link is not None
        },
        goal,
    )


def _rows(table: Mapping[str, Any], left_out: list[str]) -> Counter[tuple[object, ...]]:
    kept = sorted((column, index) for index, column in enumerate(table["columns"]) if column not in left_out)
    return Counter(tuple((column, _plain(row[index])) for column, index in kept) for row in table["rows"])


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def _shown(row: tuple[object, ...]) -> str:
    text = ", ".join(f"{pair[0]}={pair[1]!r}" for pair in row if isinstance(pair, tuple))
    return text if len(text) <= 200 else text[:197] + "..."
