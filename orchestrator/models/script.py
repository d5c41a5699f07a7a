"""Scripts of the scripted model: what it answers to which instruction, and how often it succeeds. Pure.

A scripted model is no model. It plays turns that someone wrote down, so that everything between an agent
and a model can be tried, tested and shown without one, and so that a stochastic agent whose success rate
is known exists. Model names that begin with "scripted" say so wherever a result is shown.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Fault(_Model):
    """What goes wrong with a turn the first `times` times it is asked for, by each attempt.

    status: an HTTP error. cut: the stream ends in the middle. reset: the connection breaks in the middle.
    error_event: an error inside the stream. hang: no answer for `delay_s`. html: a page instead of an
    answer. encoding: JSON in UTF-16.
    """

    kind: Literal["status", "cut", "reset", "error_event", "hang", "html", "encoding"]
    status: int = 500
    message: str | None = None
    times: int = 1_000_000
    retry_after_s: float | None = None
    delay_s: float = 3600.0


class ToolUse(_Model):
    """One tool call; `raw_input` is sent as it stands in place of the input, to break its JSON."""

    name: str = "bash"
    input: dict[str, object] = {}
    raw_input: str | None = None


class Turn(_Model):
    """One reply. Without `stop_reason`: tool_use where tools are called, else end_turn. Without `usage`,
    tokens are counted as a quarter of the characters, with a cache where the request asks for one."""

    text: str | None = None
    thinking: str | None = None
    tools: tuple[ToolUse, ...] = ()
    stop_reason: str | None = None
    usage: dict[str, int] | None = None
    delay_s: float = 0.0
    event_delay_s: float = 0.0
    fault: Fault | None = None

    @property
    def reason(self) -> str:
        return self.stop_reason or ("tool_use" if self.tools else "end_turn")


class Case(_Model):
    """What is answered to conversations whose first user message or system prompt contains `match`."""

    match: str
    name: str = ""
    solve: tuple[Turn, ...]
    fail: tuple[Turn, ...] = ()
    success: Share | None = None


class Behaviour(_Model):
    """How often a scripted model plays a case's `solve`.

    erratic (steady false): each attempt succeeds with probability `success` on every case. steady: a share
    `success` of the cases always succeeds and the others never do. A case's own `success` goes before.
    """

    success: Share = 1.0
    steady: bool = False


class Script(_Model):
    """Behaviours by model name, and the cases in order; the first that matches is played.

    When a case has no further turn, its last one is played again: a model that never stops is a case
    whose last turn calls a tool.
    """

    name: str = "scripted"
    seed: int = 0
    models: dict[str, Behaviour] = {"scripted": Behaviour()}
    cases: tuple[Case, ...]


def find_case(script: Script, body: Mapping[str, object]) -> Case | None:
    """The first case whose `match` stands in the first user message or the system prompt."""
    messages = body.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else {}
    seen = text_of(first.get("content") if isinstance(first, dict) else "") + "\n" + text_of(body.get("system"))
    return next((case for case in script.cases if case.match in seen), None)


def succeeds(script: Script, model: str, case: Case, attempt: str) -> bool:
    """Whether this attempt plays `solve`: a fixed function of seed, model, case and attempt."""
    behaviour = script.models[model]
    share = behaviour.success if case.success is None else case.success
    subject = case.name or case.match
    key = (str(script.seed), model, subject) + (() if behaviour.steady and case.success is None else (attempt,))
    return uniform(*key) < share


def uniform(*key: str) -> float:
    """A number in [0, 1) that follows from the key."""
    digest = hashlib.blake2b("\0".join(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def turn_number(messages: Sequence[object]) -> int:
    """How many replies the conversation already holds."""
    return sum(1 for m in messages if isinstance(m, Mapping) and m.get("role") == "assistant")


def branch_of(messages: Sequence[object]) -> str | None:
    """The branch an earlier reply took, read from the ids of its tool calls."""
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, Mapping) and block.get("type") == "tool_use":
                parts = str(block.get("id")).split("_")
                if len(parts) > 1 and parts[1] in ("solve", "fail"):
                    return parts[1]
    return None


def blocks_of(turn: Turn, branch: str, number: int) -> list[dict[str, object]]:
    """The reply's content blocks; a tool call's id names branch, turn and place."""
    blocks: list[dict[str, object]] = []
    if turn.thinking is not None:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": "scripted"})
    if turn.text is not None:
        blocks.append({"type": "text", "text": turn.text})
    for place, tool in enumerate(turn.tools):
        call_id = f"toolu_{branch}_{number}_{place}"
        blocks.append({"type": "tool_use", "id": call_id, "name": tool.name, "input": tool.input})
    return blocks


def usage_of(turn: Turn, body: Mapping[str, object], blocks: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """The turn's declared usage, or one from the lengths: a cached request reads all but its last two
    messages from the cache and writes the rest."""
    if turn.usage is not None:
        return {"input_tokens": 0, "output_tokens": 0, **turn.usage}
    messages = body.get("messages")
    listed = messages if isinstance(messages, list) else []
    fixed = _quarter(body.get("system")) + _quarter(body.get("tools"))
    said = sum(_quarter(block.get(key)) for block in blocks for key in ("text", "thinking", "input"))
    output = max(said, 1)
    if "cache_control" not in str(body):
        prompt = fixed + sum(_quarter(m) for m in listed)
        return {"input_tokens": prompt, "output_tokens": output}
    old, new = listed[:-2], listed[-2:]
    begun = turn_number(listed) > 0
    read = (fixed + sum(_quarter(m) for m in old)) if begun else 0
    written = sum(_quarter(m) for m in new) + (0 if begun else fixed)
    return {
        "input_tokens": 3,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }


def text_of(content: object) -> str:
    """The words of a message's content, a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(b.get("text", "")) for b in blocks if isinstance(b, Mapping))


def _quarter(value: object) -> int:
    return len(str(value)) // 4 if value else 0
