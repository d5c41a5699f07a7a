"""The tools of the claude agent: bash and the text editor, run in the sandbox as the task's user.

bash has a schema of our own, because each command gets a fresh shell: the API's own bash type promises one
that keeps its state. The editor and the computer are the API's own types.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.agents.base import AgentContext
from orchestrator.agents.computer import COMPUTER, LOOK, MAX_IMAGE_BYTES, SCREENS, xdotool_words
from orchestrator.agents.editing import EditError, insert_after, numbered, replace_once, wanted_number, wanted_text
from sandboxes.base import Command, ExecResult, Output, Sandbox

EDITOR = "str_replace_based_edit_tool"
MAX_FILE_BYTES = 1_000_000
_ARGUMENT_BYTES = 96_000
_FOLDER, _MISSING = 90, 91
_LOOK = (
    f'if [ -d "$1" ]; then cd "$1" && find . -maxdepth 2 -not -path "*/.*" | sort; exit {_FOLDER}; '
    f'elif [ -f "$1" ]; then cat -- "$1"; else exit {_MISSING}; fi'
)
_WRITE = 'p=$1; shift; mkdir -p -- "$(dirname -- "$p")" && printf %s "$@" | base64 -d > "$p"'

DEFINITIONS: Mapping[str, Mapping[str, object]] = {
    "bash": {
        "name": "bash",
        "description": (
            "Run a bash command in the task's container, in its work folder. Every call starts a new shell: "
            "the folder, variables and background jobs of an earlier call are gone, files stay. Output and "
            "errors come back together; of a long output the middle is left out."
        ),
        "input_schema": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command; several lines are fine."}},
            "required": ["command"],
        },
    },
    "edit": {"type": "text_editor_20250728", "name": EDITOR},
}


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """What one call may take; of longer output head and tail are kept. `display`: width and height, pixels."""

    timeout_s: float = 120.0
    output_bytes: int = 16_000
    display: tuple[int, int] = (1024, 768)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What the model is told. `timed_out`: the command was killed at its limit. `image`: a PNG in base64, and
    `screenshot`: where it is kept in the sandbox."""

    content: str
    is_error: bool = False
    exit_code: int | None = None
    duration_s: float = 0.0
    dropped_bytes: int = 0
    timed_out: bool = False
    image: str = ""
    screenshot: str = ""


class Tools:
    """Runs tool calls of one attempt. SandboxError passes through; everything else is an outcome."""

    def __init__(self, sandbox: Sandbox, context: AgentContext, limits: ToolLimits) -> None:
        self._sandbox, self._context, self._limits = sandbox, context, limits
        self._screens = 0

    def run(self, name: str, given: Mapping[str, object], left_s: float | None) -> ToolOutcome:
        """One call, within its own limit and the time that is left."""
        timeout_s = self._limits.timeout_s if left_s is None else max(min(self._limits.timeout_s, left_s), 0.01)
        try:
            if name == "bash":
                return self._bash(wanted_text(given, "command"), timeout_s)
            if name == EDITOR:
                return self._edit(given, timeout_s)
            if name == COMPUTER:
                return self._act(given, timeout_s)
        except EditError as error:
            return ToolOutcome(str(error), is_error=True)
        return ToolOutcome(f"there is no tool named {name}", is_error=True)

    def _bash(self, command: str, timeout_s: float) -> ToolOutcome:
        result = self._exec(("bash", "-c", "exec 2>&1\n" + command), timeout_s, self._limits.output_bytes)
        text = _joined(result)
        if result.timed_out:
            text += f"\n[the command did not end within {timeout_s:.0f} s and was killed]"
        elif result.exit_code != 0:
            text += f"\n[exit code {result.exit_code}]"
        return _outcome(text.strip("\n") or "[no output]", result)

    def _act(self, given: Mapping[str, object], timeout_s: float) -> ToolOutcome:
        words = xdotool_words(given, *self._limits.display)
        self._screens += 1
        screen = f"{SCREENS}/screen-{self._screens:03d}.png"
        result = self._exec(("bash", "-c", LOOK, "look", screen, *words), timeout_s, MAX_IMAGE_BYTES)
        said = result.stderr.text().strip()
        if result.exit_code != 0 or result.stdout.dropped_bytes:
            why = "it took too long" if result.timed_out else said[-500:] or "the picture is too large"
            return _outcome(f"the display did not do it: {why}", result, failed=True)
        image = base64.b64encode(result.stdout.data).decode()
        return replace(_outcome(said or "done", result), image=image, screenshot=screen)

    def _edit(self, given: Mapping[str, object], timeout_s: float) -> ToolOutcome:
        command, path = wanted_text(given, "command"), wanted_text(given, "path")
        if command == "create":
            return self._write(path, wanted_text(given, "file_text"), timeout_s, f"wrote {path}")
        if command == "view":
            return self._view(path, given.get("view_range"), timeout_s)
        if command == "str_replace":
            new = given.get("new_str", "")
            old = wanted_text(given, "old_str")
            text = replace_once(self._read(path, timeout_s), old, new if isinstance(new, str) else "")
            return self._write(path, text, timeout_s, f"changed {path}")
        if command == "insert":
            new_text = wanted_text(given, "insert_text" if "insert_text" in given else "new_str")
            text = insert_after(self._read(path, timeout_s), wanted_number(given, "insert_line"), new_text)
            return self._write(path, text, timeout_s, f"changed {path}")
        raise EditError(f"command {command} is not one of view, create, str_replace, insert")

    def _view(self, path: str, view_range: object, timeout_s: float) -> ToolOutcome:
        result = self._exec(("bash", "-c", _LOOK, "view", path), timeout_s, MAX_FILE_BYTES)
        text = _joined(result)
        if result.exit_code == _MISSING:
            raise EditError(f"{path} does not exist")
        if result.exit_code == 0:
            text = numbered(text, view_range)
        shown = bounded(text.encode(), self._limits.output_bytes)
        return ToolOutcome(
            shown.text(),
            result.exit_code not in (0, _FOLDER),
            0,
            result.duration_s,
            shown.dropped_bytes,
            result.timed_out,
        )

    def _read(self, path: str, timeout_s: float) -> str:
        result = self._exec(("bash", "-c", _LOOK, "view", path), timeout_s, MAX_FILE_BYTES)
        if result.exit_code == _MISSING:
            raise EditError(f"{path} does not exist; use create")
        if result.exit_code != 0:
            raise EditError(f"{path} cannot be read: {_joined(result)[-300:] or 'it took too long'}")
        if result.stdout.dropped_bytes:
            raise EditError(f"{path} is larger than {MAX_FILE_BYTES} bytes; edit it with bash")
        try:
            return result.stdout.data.decode("utf-8")
        except UnicodeDecodeError:
            raise EditError(f"{path} is not UTF-8 text; edit it with bash") from None

    def _write(self, path: str, text: str, timeout_s: float, done: str) -> ToolOutcome:
        if len(text.encode()) > MAX_FILE_BYTES:
            raise EditError(f"more than {MAX_FILE_BYTES} bytes; write it with bash")
        code = base64.b64encode(text.encode()).decode()
        parts = tuple(code[at : at + _ARGUMENT_BYTES] for at in range(0, len(code), _ARGUMENT_BYTES))
        result = self._exec(("bash", "-c", _WRITE, "write", path, *parts), timeout_s, self._limits.output_bytes)
        if result.exit_code != 0:
            raise EditError(f"{path} cannot be written: {_joined(result)[-300:] or 'it took too long'}")
        return _outcome(done, result)

    def _exec(self, argv: tuple[str, ...], timeout_s: float, output_bytes: int) -> ExecResult:
        context = self._context
        command = Command(
            argv, context.user, context.workdir, context.env, timeout_s=timeout_s, max_output_bytes=output_bytes
        )
        return self._sandbox.exec(command)


def bounded(data: bytes, limit: int) -> Output:
    """Head and tail of at most `limit` bytes, and how many are missing between."""
    if len(data) <= limit:
        return Output(data)
    half = limit // 2
    return Output(data[:half], data[len(data) - (limit - half) :], len(data) - limit)


def _joined(result: ExecResult) -> str:
    return result.stdout.text() + result.stderr.text()


def _outcome(text: str, result: ExecResult, failed: bool = False) -> ToolOutcome:
    dropped = result.stdout.dropped_bytes + result.stderr.dropped_bytes
    failed = failed or result.exit_code != 0
    return ToolOutcome(text, failed, result.exit_code, result.duration_s, dropped, result.timed_out)
