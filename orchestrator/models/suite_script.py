"""A script over a whole suite: scripted models that solve its tasks, or do not, at known rates.

The `solve` turn carries the task's own reference solution, read from the suite's folder on this host, and
runs it. No model is involved and nothing is learnt about one: the names of these models begin with
"scripted", and they exist so that pass@k, pass^k, costs and reports can be seen at work.
"""

import base64
import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from orchestrator.models.script import Behaviour, Case, Script, ToolUse, Turn
from suites.loading import load_suite

MAX_COMMAND_BYTES = 100_000
FOLDER = "/tmp/.scripted"
_MOVED = rf"s#(^|[^[:alnum:]_./-])/solution\b#\1{FOLDER}#g"

MODELS: Mapping[str, Behaviour] = {
    "scripted": Behaviour(success=1.0),
    "scripted-steady": Behaviour(success=0.7, steady=True),
    "scripted-erratic": Behaviour(success=0.7),
}
"""Two models with one mean rate: the steady one always or never solves a task, the erratic one sometimes."""


class SuiteScriptError(ValueError):
    """A suite that cannot be scripted; the message says which task and why."""


def suite_script(folder: Path, seed: int = 0, models: Mapping[str, Behaviour] | None = None) -> Script:
    """The script of a suite. Raises SuiteScriptError where a task ships no solution that can be carried."""
    suite = load_suite(folder)
    cases = []
    for task in suite.tasks:
        for step in task.steps:
            if step.solution_dir is None:
                raise SuiteScriptError(f"{task.name}: ships no solution, so no scripted model can solve it")
            command = solution_command(step.solution_dir)
            if len(command) > MAX_COMMAND_BYTES:
                raise SuiteScriptError(f"{task.name}: its solution is too large to be carried in a tool call")
            cases.append(_case(f"{task.name} {step.name}".strip(), step.instruction.strip(), command))
    return Script(name=f"scripted {suite.name}", seed=seed, models=dict(models or MODELS), cases=tuple(cases))


def solution_command(folder: Path) -> str:
    """A bash command that unpacks a solution folder beside the task, runs its solve.sh and removes it."""
    code = base64.b64encode(_packed(folder)).decode()
    return (
        f"mkdir -p {FOLDER} && printf %s {code} | base64 -d | tar -xzf - -C {FOLDER} && "
        f"grep -rlIF /solution {FOLDER} | xargs -r sed -i -E '{_MOVED}'; "
        f"bash {FOLDER}/solve.sh; code=$?; rm -rf {FOLDER}; exit $code"
    )


def _case(name: str, instruction: str, command: str) -> Case:
    look = Turn(thinking="Scripted: first a look.", tools=(ToolUse(input={"command": "ls"}),))
    solve = Turn(text="Scripted: apply the reference edit.", tools=(ToolUse(input={"command": command}),))
    wrong = Turn(text="Scripted: change nothing that matters.", tools=(ToolUse(input={"command": "true"}),))
    end = Turn(text="Scripted: the task is done.")
    return Case(match=instruction, name=name, solve=(look, solve, end), fail=(look, wrong, end))


def _packed(folder: Path) -> bytes:
    """A tar.gz that is the same for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            info = archive.gettarinfo(path, path.relative_to(folder).as_posix())
            info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)
    return gzip.compress(buffer.getvalue(), 9, mtime=0)
