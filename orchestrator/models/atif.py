"""A transcript as ATIF (Agent Trajectory Interchange Format, v1.4), so that other tools can read it. Pure.

A step is a system prompt, a user message, or one reply with the results of its tool calls. ATIF's prompt
tokens include the cached ones. What ATIF has no place for is put into `extra`.
"""

from collections.abc import Iterable, Mapping

from orchestrator.models.tokens import Tokens
from orchestrator.models.transcript import Event

SCHEMA_VERSION = "ATIF-v1.4"
_SOURCES = {"system": "system", "user": "user", "assistant": "agent", "tool": "system", "harness": "system"}


def to_atif(
    events: Iterable[Event], session_id: str, agent: str, version: str, model: str | None = None
) -> dict[str, object]:
    """The trajectory of one attempt."""
    steps: list[dict[str, object]] = []
    waiting: dict[str, dict[str, object]] = {}
    for event in events:
        step = waiting.get(event.tool_call_id or "") if event.role == "tool" else None
        if step is not None:
            _observe(step, event)
            continue
        steps.append(_step(len(steps) + 1, event))
        waiting |= {str(call.get("id")): steps[-1] for call in event.tool_calls}
    document: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "session_id": session_id,
        "agent": {"name": agent, "version": version} | ({"model_name": model} if model else {}),
        "steps": steps,
        "final_metrics": _final(steps),
    }
    return document


def _step(number: int, event: Event) -> dict[str, object]:
    step: dict[str, object] = {"step_id": number, "source": _SOURCES[event.role], "message": event.content}
    if event.time:
        step["timestamp"] = event.time
    if event.role == "assistant":
        _agent_step(step, event)
    elif event.role == "tool":
        step["message"] = ""
        step["observation"] = {"results": [{"content": event.content}]}
    elif event.role == "harness":
        step["message"] = event.event or ""
        step["extra"] = dict(event.fields)
    return step


def _agent_step(step: dict[str, object], event: Event) -> None:
    if event.model:
        step["model_name"] = event.model
    if event.thinking:
        step["reasoning_content"] = event.thinking
    if event.tool_calls:
        step["tool_calls"] = [
            {
                "tool_call_id": str(call.get("id")),
                "function_name": str(call.get("name")),
                "arguments": call.get("input") if isinstance(call.get("input"), Mapping) else {},
            }
            for call in event.tool_calls
        ]
    if event.usage:
        tokens = _tokens(event.usage)
        metrics: dict[str, object] = {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.output,
            "cached_tokens": tokens.cache_read,
        }
        step["metrics"] = metrics | ({"cost_usd": event.cost_usd} if event.cost_usd is not None else {})


def _observe(step: dict[str, object], event: Event) -> None:
    observation = step.setdefault("observation", {"results": []})
    assert isinstance(observation, dict)
    observation["results"].append({"source_call_id": event.tool_call_id, "content": event.content})


def _final(steps: list[dict[str, object]]) -> dict[str, object]:
    listed = [m for step in steps if isinstance(m := step.get("metrics"), dict)]
    final: dict[str, object] = {"total_steps": len(steps)}
    if listed:
        final["total_prompt_tokens"] = sum(m["prompt_tokens"] for m in listed)
        final["total_completion_tokens"] = sum(m["completion_tokens"] for m in listed)
        final["total_cached_tokens"] = sum(m["cached_tokens"] for m in listed)
    if listed and all("cost_usd" in m for m in listed):
        final["total_cost_usd"] = sum(m["cost_usd"] for m in listed)
    return final


def _tokens(usage: Mapping[str, object]) -> Tokens:
    known = {name: value for name in Tokens.__slots__ if isinstance(value := usage.get(name), int)}
    return Tokens(**known)
