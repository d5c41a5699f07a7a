"""What the claude agent sends besides its messages, and the line it sends it over."""

from collections.abc import Mapping

from orchestrator.agents.base import AgentContext
from orchestrator.agents.claude_tools import DEFINITIONS
from orchestrator.agents.computer import BETA, COMPUTER, definition
from orchestrator.agents.conversation import fixed_part
from orchestrator.agents.settings import ClaudeSettings
from orchestrator.models.client import Clock, Meter, ModelClient, RetryPolicy
from orchestrator.models.prices import PriceTable


def request_settings(settings: ClaudeSettings, system: str) -> dict[str, object]:
    """All of a request but its messages."""
    tools = [definition(*settings.display) if name == COMPUTER else DEFINITIONS[name] for name in settings.tools]
    request: dict[str, object] = {
        "model": settings.model,
        "max_tokens": settings.max_tokens,
        "stream": settings.stream,
        **fixed_part(system, tools, settings.prompt_caching),
    }
    if COMPUTER in settings.tools:
        request["extra_headers"] = {"anthropic-beta": BETA}
    if settings.thinking == "adaptive":
        request["thinking"] = {"type": "adaptive"}
    elif settings.thinking is not None:
        request["thinking"] = {"type": "enabled", "budget_tokens": settings.thinking}
    if settings.effort is not None:
        request["output_config"] = {"effort": settings.effort}
    if settings.temperature is not None:
        request["temperature"] = settings.temperature
    if not settings.parallel_tools:
        request["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    return request


def model_client(settings: ClaudeSettings, model: str, prices: PriceTable, context: AgentContext) -> ModelClient:
    """The line to a model as the settings say; its retries become events."""
    assert context.endpoint is not None
    policy = RetryPolicy(
        settings.api_retries, settings.api_backoff_s, settings.api_backoff_max_s, settings.request_timeout_s
    )

    def on_retry(kind: str, message: str, wait_s: float) -> None:
        context.record(
            {"role": "harness", "event": "api_retry", "kind": kind, "message": message[:500], "wait_s": wait_s}
        )

    clock = Clock(context.monotonic, context.sleep)
    return ModelClient(context.endpoint, policy, Meter(prices, model), clock, on_retry, context.seed)


def without_nothing(event: Mapping[str, object]) -> dict[str, object]:
    """Without what says nothing: None, False and what is empty; a zero stays."""
    return {
        key: value for key, value in event.items() if value is not None and value is not False and value not in ("", [])
    }
