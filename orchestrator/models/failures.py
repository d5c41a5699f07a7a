"""What can go wrong between an agent and its model, and which of it is worth another request. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

RETRIED = frozenset({"rate_limit", "overloaded", "server", "connection", "truncated", "bad_reply", "timeout"})
LIMITING = frozenset({"rate_limit", "overloaded"})
"""Failures whose waiting time is the API's rate limit and not the model's thinking."""

_BY_STATUS = {
    400: "bad_request",
    401: "auth",
    402: "budget",
    403: "forbidden",
    404: "unknown_model",
    408: "timeout",
    413: "too_large",
    422: "bad_request",
    429: "rate_limit",
    529: "overloaded",
}
_BY_TYPE = {
    "passhat_budget": "budget",
    "passhat_price": "budget",
    "passhat_recording": "not_recorded",
    "passhat_token": "forbidden",
    "passhat_path": "bad_request",
    "passhat_unreachable": "connection",
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limit",
    "authentication_error": "auth",
    "api_error": "server",
    "timeout_error": "timeout",
}
_CONTEXT_FULL = ("prompt is too long", "exceed context limit", "context window")


@dataclass(slots=True, eq=False)
class ModelFailureError(RuntimeError):
    """One request, or all that were tried for it, failed. `kind` is a key of RETRIED or a final one:

    auth, budget, forbidden, unknown_model, bad_request, context_full, too_large, not_recorded, deadline.
    """

    kind: str
    message: str
    retry_after_s: float | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def failure_of(status: int, body: object, retry_after: str | None = None) -> ModelFailureError:
    """The failure an error answer stands for. The error's type goes before the status."""
    error = body.get("error") if isinstance(body, Mapping) else None
    told: Mapping[str, object] = error if isinstance(error, Mapping) else {}
    message = str(told.get("message") or f"HTTP {status}")[:4000]
    kind = (
        _BY_TYPE.get(str(told.get("type"))) or _BY_STATUS.get(status) or ("server" if status >= 500 else "bad_request")
    )
    if kind == "bad_request" and any(words in message.lower() for words in _CONTEXT_FULL):
        kind = "context_full"
    return ModelFailureError(kind, message, _seconds(retry_after))


def _seconds(text: str | None) -> float | None:
    try:
        return max(float(text), 0.0) if text else None
    except ValueError:
        return None
