"""Any command line as an agent, run in the container as the task's user.

The exit code is kept as a health signal; what the outcome is worth, the grader says. The API's key never
comes near: the tool gets the gateway's address and the attempt's own token.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchestrator.agents.base import AgentContext, AgentResult
from orchestrator.agents.presets import Parsed, parse_nothing
from sandboxes.base import Command, ExecResult, FileEntry, Sandbox

INSTRUCTION_FILE = "/logs/agent/instruction.md"
NOT_FOUND = (126, 127)


@dataclass(frozen=True, slots=True)
class BroughtFile:
    """A file the agent needs in the container."""

    destination: str
    data: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """One command line. In `argv` and `env` {instruction}, {instruction_file}, {model}, {base_url} and
    {token} are replaced, each as it stands; every other brace is left alone. `timeout_s`: a limit of its
    own below the task's."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: tuple[BroughtFile, ...] = ()
    layers: tuple[str, ...] = ()
    model: str | None = None
    needs_model: bool = False
    timeout_s: float | None = None
    max_output_bytes: int = 1_000_000
    parse: Callable[[str], Parsed] = parse_nothing


class CommandAgent:
    """Runs its command once per step.

    Endings: "timeout" when the time is up; "error" when the program could not be started or its own
    report says that it failed; else "finished", whatever the exit code.
    """

    needs_solution = False

    def __init__(self, spec: CommandSpec) -> None:
        self._spec = spec

    @property
    def needs_model(self) -> bool:
        return self._spec.needs_model

    def image_layers(self) -> tuple[str, ...]:
        return self._spec.layers

    def setup(self, sandbox: Sandbox, context: AgentContext) -> None:
        """Bring the files along, if there are any."""
        if self._spec.files:
            sandbox.put(FileEntry(f.destination, data=f.data, mode=f.mode) for f in self._spec.files)

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        """Write the instruction, run the command, keep its output as transcript events."""
        spec = self._spec
        if spec.needs_model and context.endpoint is None:
            return AgentResult("model_error", "the agent needs a model and the attempt has no endpoint")
        values = self._values(context)
        argv = tuple(fill(part, values) for part in spec.argv)
        env = {**context.env, **{name: fill(value, values) for name, value in spec.env.items()}}
        sandbox.put([FileEntry(INSTRUCTION_FILE, data=context.instruction.encode(), mode=0o644)])
        context.record({"role": "user", "content": context.instruction})
        limits = [limit for limit in (spec.timeout_s, context.timeout_s) if limit is not None]
        command = Command(
            argv,
            user=context.user,
            workdir=context.workdir,
            env=env,
            timeout_s=min(limits) if limits else None,
            max_output_bytes=spec.max_output_bytes,
        )
        result = sandbox.exec(command)
        self._record(context, result)
        return self._ending(result, command.timeout_s)

    def _values(self, context: AgentContext) -> dict[str, str]:
        endpoint = context.endpoint
        return {
            "instruction": context.instruction,
            "instruction_file": INSTRUCTION_FILE,
            "model": self._spec.model or "",
            "base_url": endpoint.url if endpoint else "",
            "token": endpoint.token if endpoint else "",
        }

    def _record(self, context: AgentContext, result: ExecResult) -> None:
        for stream, output in (("stdout", result.stdout), ("stderr", result.stderr)):
            if not output.data and stream == "stderr":
                continue
            context.record(
                {
                    "role": "tool",
                    "name": stream,
                    "content": output.text(),
                    "exit_code": result.exit_code,
                    "duration_s": result.duration_s,
                    "dropped_bytes": output.dropped_bytes,
                }
            )

    def _ending(self, result: ExecResult, limit_s: float | None) -> AgentResult:
        parsed = self._spec.parse(result.stdout.text())
        usage, version = parsed.usage, parsed.version
        if result.timed_out:
            return AgentResult("timeout", f"the command did not end within {limit_s} s", usage=usage, version=version)
        code = result.exit_code
        if code in NOT_FOUND:
            said = result.stderr.text().strip()[-300:]
            return AgentResult("error", f"the command could not be started (exit code {code}): {said}", exit_code=code)
        if parsed.error is not None:
            return AgentResult("error", parsed.error, exit_code=code, usage=usage, version=version)
        return AgentResult("finished", exit_code=code, usage=usage, version=version)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace {name} for the names in `values`, in one pass: what is filled in is never filled again."""
    out: list[str] = []
    rest = text
    while True:
        found = [(rest.find("{" + name + "}"), name) for name in values]
        found = [(at, name) for at, name in found if at >= 0]
        if not found:
            return "".join(out) + rest
        at, name = min(found)
        out += [rest[:at], values[name]]
        rest = rest[at + len(name) + 2 :]
