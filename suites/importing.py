"""Rows of other benchmarks become task folders: SWE-bench-like rows and GAIA-like questions.

The caller reads the file (JSONL, Parquet) into rows; a row that cannot be used is refused with a sentence
and stops no other.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suites.errors import TaskError
from suites.import_templates import (
    QUESTION_DOCKERFILE,
    QUESTION_TOML,
    REPO_DOCKERFILE,
    REPO_TEST_SH,
    REPO_TOML,
    RUN_PYTEST,
    SOLVE_SH,
)
from suites.new import write_files
from suites.normalise import items, number

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Folders written, and (row's name, one sentence) of each row that was refused."""

    written: tuple[Path, ...]
    refused: tuple[tuple[str, str], ...]


def read_jsonl(file: Path) -> list[Row]:
    """The rows of a JSON-lines file, or of one JSON list. Raises TaskError with the line."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        rows = json.loads(text) if text.lstrip().startswith("[") else None
    except ValueError as error:
        raise TaskError(f"{file} is not JSON: {error}") from error
    if rows is not None:
        return [_object(row, file, f"entry {index}") for index, row in enumerate(rows, 1)]
    found: list[Row] = []
    for index, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(_object(json.loads(line), file, f"line {index}"))
            except ValueError as error:
                raise TaskError(f"{file}: line {index} is not JSON: {error}") from error
    return found


def _object(row: object, file: Path, where: str) -> Row:
    if not isinstance(row, dict):
        raise TaskError(f"{file}: {where} is no object but {json.dumps(row)[:80]}: give one object for each task")
    return row


def import_repo_rows(rows: Iterable[Row], target: Path, archives: Path | None = None) -> ImportReport:
    """SWE-bench-like rows: instance_id, problem_statement, test_patch, FAIL_TO_PASS, PASS_TO_PASS, patch.

    The image is the row's `image` (or `image_name`), with the repository in `/testbed`; else it is built
    from `archives`/<instance_id>.tar.gz, the repository at its base commit, by the row's `install`: one command or
    several lines of them, run in `/testbed`, which bring pytest, git or patch, and what the repository needs.
    """
    return _import(rows, target, "instance_id", lambda row, folder: _repo_task(row, folder, archives))


def import_questions(rows: Iterable[Row], target: Path, attachments: Path | None = None) -> ImportReport:
    """GAIA-like rows: task_id, Question, Level, "Final answer", file_name (found in `attachments`)."""
    return _import(rows, target, "task_id", lambda row, folder: _question_task(row, folder, attachments))


def _import(rows: Iterable[Row], target: Path, key: str, write: Callable[[Row, Path], None]) -> ImportReport:
    written: list[Path] = []
    refused: list[tuple[str, str]] = []
    for index, row in enumerate(rows, 1):
        name = str(row.get(key) or f"row {index}")
        folder = target / re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
        try:
            if folder in written or folder.exists():
                raise TaskError(f"{folder} is there already: remove it, or give another target")
            write(row, folder)
        except (TaskError, OSError) as error:
            refused.append((name, str(error)))
            continue
        written.append(folder)
    return ImportReport(tuple(written), tuple(refused))


def _repo_task(row: Row, folder: Path, archives: Path | None) -> None:
    name = _text(row, "instance_id")
    fail, keep = _names(row, "FAIL_TO_PASS"), _names(row, "PASS_TO_PASS")
    if not fail:
        raise TaskError(f"row {name}: FAIL_TO_PASS names no test, so doing nothing would pass: name at least one")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise TaskError(f"row {name}: its instance_id names a file too: use letters, digits, dots, dashes, underscores")
    image = row.get("image") or row.get("image_name")
    archive = None if archives is None else archives / f"{name}.tar.gz"
    if not image and (archive is None or not archive.is_file()):
        raise TaskError(f"row {name}: it has no image and no archive {name}.tar.gz: give one of them")
    statement, test_patch = _text(row, "problem_statement"), _text(row, "test_patch")
    content = {
        "task.toml": REPO_TOML.format(
            name=json.dumps(name),
            cluster=json.dumps(str(row.get("repo") or name)),
            difficulty=json.dumps(str(row.get("difficulty") or "unknown")),
            image=f"docker_image = {json.dumps(image)}\n" if image else "",
            fail_to_pass=json.dumps(fail),
            pass_to_pass=json.dumps(keep),
        ),
        "instruction.md": f"{statement.strip()}\n\nThe repository is in `/testbed`. Change it so that this holds.\n",
        "tests/test.sh": REPO_TEST_SH,
        "tests/run_pytest.py": RUN_PYTEST,
        "tests/test.patch": test_patch,
        "tests/names.json": json.dumps([*fail, *keep], indent=1) + "\n",
    }
    if row.get("patch"):
        content["solution/solve.sh"] = SOLVE_SH
        content["solution/solution.patch"] = str(row["patch"])
    if not image:
        install = [f"RUN {line.strip()}\n" for line in str(row.get("install") or "").splitlines() if line.strip()]
        content["environment/Dockerfile"] = REPO_DOCKERFILE.format(install="".join(install))
    write_files(folder, content)
    if not image and archive is not None:
        shutil.copy(archive, folder / "environment" / "repo.tar.gz")


def _question_task(row: Row, folder: Path, attachments: Path | None) -> None:
    name, question = _text(row, "task_id"), _text(row, "Question")
    answer = _text(row, "Final answer")
    if answer.strip() == "?":
        raise TaskError(f"row {name}: its answer is withheld ('?'), so nothing can be graded: leave it out")
    file = str(row.get("file_name") or "")
    if file and (attachments is None or "/" in file or not (attachments / file).is_file()):
        raise TaskError(f"row {name}: its file {file!r} was not found: give the folder with the attachments")
    about = f"\n\nThe file is `/app/{file}`." if file else ""
    form, extra = answer_form(answer)
    content = {
        "task.toml": QUESTION_TOML.format(
            name=json.dumps(name),
            level=json.dumps(f"level{row.get('Level', 0)}"),
            form=json.dumps(form),
            extra=extra,
            expected=json.dumps(answer, ensure_ascii=False),
        ),
        "instruction.md": f"{question.strip()}{about}\n\nWrite the answer and nothing else into `/app/answer.txt`.\n",
        "environment/Dockerfile": QUESTION_DOCKERFILE + (f'COPY [{json.dumps(file)}, "/app/"]\n' if file else ""),
        "solution/solve.sh": "#!/bin/bash\ncp /solution/answer.txt /app/answer.txt\n",
        "solution/answer.txt": answer + "\n",
    }
    write_files(folder, content)
    if file and attachments is not None:
        shutil.copy(attachments / file, folder / "environment" / file)


def answer_form(answer: str) -> tuple[str, str]:
    """(form, more settings): a number, a list by its separator, else text, as such answers are compared."""
    if number(answer) is not None:
        return "number", ""
    for separator in (";", ","):
        parts = items(answer, separator)
        if separator in answer and len(parts) > 1:
            item = "number" if all(number(part) is not None for part in parts) else "text"
            return "list", f'separator = "{separator}"\nitem = "{item}"\n'
    return "text", ""


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    if value is None or not str(value).strip():
        raise TaskError(f"a row has no {key!r}: every row needs it")
    return str(value)


def _names(row: Row, key: str) -> list[str]:
    value = row.get(key, [])
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise TaskError(f"row {row.get('instance_id')}: {key} is neither a list nor JSON: correct it") from error
    return [str(name) for name in value]
