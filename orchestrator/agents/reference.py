"""The two agents that need no model: the oracle runs the task's own solution, nop does nothing.

Every failure of the oracle is the infrastructure's or the task's; every pass of nop is the grader's fault.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from orchestrator.agents.base import AgentContext, AgentResult
from sandboxes.base import Command, FileEntry, Sandbox

ORACLE_LOG = "/logs/agent/oracle.txt"
LEGACY = "solution.sh"
SHOWN_BYTES = 20_000
_SOLVE = f"(/solution/solve.sh) > {ORACLE_LOG} 2>&1; code=$?; tail -c {SHOWN_BYTES} {ORACLE_LOG}; exit $code"


class OracleAgent:
    """Runs solution/solve.sh as root in the work dir, at the price of exactly one put and one exec."""

    needs_solution = True
    needs_model = False

    def image_layers(self) -> tuple[str, ...]:
        return ()

    def setup(self, sandbox: Sandbox, context: AgentContext) -> None:
        """Nothing: the solution is put when it is run, as steps have solutions of their own."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        """Copy the solution to /solution and run it; a failing script is still graded, its exit code kept."""
        folder = context.solution_dir
        if folder is None or not any((folder / name).is_file() for name in ("solve.sh", LEGACY)):
            return AgentResult("error", f"the task ships no solution/solve.sh (looked in {folder})")
        sandbox.put(solution_entries(folder))
        env = {**context.env, **context.solution_env, "DEBIAN_FRONTEND": "noninteractive"}
        argv = ("bash", "-c", _SOLVE)
        command = Command(argv, user="root", workdir=context.workdir, env=env, timeout_s=context.timeout_s)
        result = sandbox.exec(command)
        context.record(
            {
                "role": "tool",
                "name": "solve.sh",
                "content": (result.stdout.data + result.stderr.data).decode("utf-8", errors="replace"),
                "exit_code": result.exit_code,
                "duration_s": result.duration_s,
            }
        )
        if result.timed_out:
            return AgentResult("timeout", f"solve.sh did not end within {context.timeout_s} s")
        message = "" if result.exit_code == 0 else f"solve.sh ended with exit code {result.exit_code}"
        return AgentResult("finished", message, exit_code=result.exit_code)


class NopAgent:
    """Does nothing and says it is done."""

    needs_solution = False
    needs_model = False

    def image_layers(self) -> tuple[str, ...]:
        return ()

    def setup(self, sandbox: Sandbox, context: AgentContext) -> None:
        """Nothing."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        """Touch nothing."""
        return AgentResult("finished")


def solution_entries(folder: Path) -> Iterator[FileEntry]:
    """The solution folder as entries below /solution; solve.sh executable, links kept as links.

    Of a legacy task, whose folder holds everything, it is solution.sh alone.
    """
    yield FileEntry("/solution", mode=0o755)
    if not (folder / "solve.sh").is_file():
        yield FileEntry("/solution/solve.sh", (folder / LEGACY).read_bytes(), mode=0o755)
        return
    for path in sorted(folder.rglob("*")):
        target = f"/solution/{path.relative_to(folder).as_posix()}"
        if path.is_symlink():
            yield FileEntry(target, link=os.readlink(path))
        elif path.is_dir():
            yield FileEntry(target, mode=0o755)
        elif path.is_file():
            mode = stat.S_IMODE(path.stat().st_mode) & 0o777
            runnable = 0o111 if target == "/solution/solve.sh" else 0
            yield FileEntry(target, data=path.read_bytes(), mode=mode | runnable)
