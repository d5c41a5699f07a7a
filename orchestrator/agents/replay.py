"""Does again, without a model, what a recorded transcript did, and says where the sandbox answers otherwise.

A sandbox that is deterministic gives the same results and the same verdict. Where a result differs, that is
drift: recorded as an event with both sides and flagged on the row.
"""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.agents.base import AgentContext, AgentResult
from orchestrator.agents.claude_tools import ToolLimits, ToolOutcome, Tools
from orchestrator.agents.settings import ReplaySettings
from orchestrator.models.transcript import Event, TranscriptError, parse_transcript, read_transcript
from sandboxes.base import Sandbox

SUFFIXES = (".jsonl", ".zst")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One tool call and what it returned then."""

    name: str
    given: dict[str, object]
    then: Event | None


class ReplayAgent:
    """Plays one transcript's tool calls in order. Transcripts are found by the task's instruction."""

    needs_solution = False
    needs_model = False

    def __init__(self, settings: ReplaySettings, transcripts: Callable[[str], Iterable[str]] | None = None) -> None:
        self._settings, self._texts = settings, transcripts

    def image_layers(self) -> tuple[str, ...]:
        return ()

    def setup(self, sandbox: Sandbox, context: AgentContext) -> None:
        """Nothing."""

    def run(self, sandbox: Sandbox, context: AgentContext) -> AgentResult:
        """Play to the end, or to the task's deadline."""
        try:
            found = [events for events in self._load() if _instruction(events) == context.instruction.strip()]
        except (OSError, TranscriptError) as error:
            return AgentResult("error", f"transcripts in {self._settings.source}: {error}")
        if not found:
            return AgentResult("error", f"no transcript in {self._settings.source} begins with this instruction")
        begin_s = context.monotonic()
        tools = Tools(sandbox, context, ToolLimits(self._settings.tool_timeout_s))
        drifted = 0
        for call in recorded_calls(found[context.seed % len(found)]):
            left_s = None if context.timeout_s is None else context.timeout_s - (context.monotonic() - begin_s)
            if left_s is not None and left_s <= 0:
                return AgentResult("timeout", f"the task's {context.timeout_s:g} s are used up")
            outcome = tools.run(call.name, call.given, left_s)
            context.record(
                {"role": "tool", "name": call.name, "content": outcome.content, "exit_code": outcome.exit_code}
            )
            drifted += self._compare(context, call, outcome)
        message = f"{drifted} tool result(s) differ from the recording" if drifted else ""
        return AgentResult("finished", message, flags=("drift",) if drifted else ())

    def _load(self) -> list[list[Event]]:
        source = self._settings.source
        if self._texts is not None:
            return [parse_transcript(text, source) for text in self._texts(source)]
        path = Path(source)
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES)
        return [read_transcript(file.read_bytes(), file.name) for file in files if ".tar" not in file.name]

    def _compare(self, context: AgentContext, call: Recorded, outcome: ToolOutcome) -> bool:
        if self._settings.compare == "off" or call.then is None or call.then.content == outcome.content:
            return False
        lines = difflib.unified_diff(
            call.then.content.splitlines(), outcome.content.splitlines(), "recorded", "now", lineterm="", n=0
        )
        diff = "\n".join(line[:200] for _, line in zip(range(40), lines, strict=False))
        context.record({"role": "harness", "event": "drift", "name": call.name, "diff": diff})
        return True


def recorded_calls(events: Iterable[Event]) -> list[Recorded]:
    """Tool calls in order, each with its result; calls whose input was broken are left out."""
    listed = list(events)
    results = {event.tool_call_id: event for event in listed if event.role == "tool" and event.tool_call_id}
    calls = []
    for event in listed:
        for call in event.tool_calls:
            given = call.get("input")
            if isinstance(given, dict) and "broken" not in call:
                calls.append(Recorded(str(call.get("name")), given, results.get(str(call.get("id")))))
    return calls


def _instruction(events: list[Event]) -> str | None:
    return next((event.content.strip() for event in events if event.role == "user"), None)
