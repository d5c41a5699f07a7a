"""What a model was asked and what that cost, and where an attempt reaches it. Pure.

Unknown is None, never 0: a sum with an unknown part is unknown.
"""

from dataclasses import dataclass


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
