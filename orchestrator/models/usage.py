"""What a model was asked and what that cost, and where an attempt reaches it. Pure.

Unknown is None, never 0: a sum with an unknown part is unknown.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What the model was asked and what that cost; None where it is not known (never 0 for unknown)."""

    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cache_read: int | None = None
    tokens_cache_written: int | None = None
    cost_usd: float | None = None
    price_version: str | None = None
    turns: int | None = None
    calls: int | None = None
    api_retries: int | None = None
    rate_limited_s: float | None = None
    model_wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where this attempt reaches its model: the gateway and the attempt's own token, never the API's key."""

    url: str
    token: str


def combine(agent: ModelUsage, metered: ModelUsage | None) -> ModelUsage:
    """What an agent said about itself, corrected by what its gateway metered.

    Tokens, calls and cost are the gateway's where it saw a call; turns, retries and waits are the agent's.
    """
    if metered is None or not metered.calls:
        return agent
    limited = [s for s in (agent.rate_limited_s, metered.rate_limited_s) if s is not None]
    return replace(
        metered,
        model=agent.model or metered.model,
        turns=agent.turns,
        api_retries=agent.api_retries,
        rate_limited_s=max(limited) if limited else None,
        model_wait_s=metered.model_wait_s if agent.model_wait_s is None else agent.model_wait_s,
    )
