"""Asks the model over the anthropic library, with retries that are ours: declared, counted and timed.

The library's own retries are off, it reads no environment, and what it sends goes to the attempt's gateway.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import TracebackType
from typing import Any, Self

import anthropic
import httpx2
from anthropic import Stream

from orchestrator.models.failures import LIMITING, RETRIED, ModelFailureError, failure_of
from orchestrator.models.prices import PriceTable
from orchestrator.models.reply import Reply, ReplyBuilder, TruncatedReplyError, reply_of
from orchestrator.models.tokens import Tokens
from orchestrator.models.usage import ModelEndpoint, ModelUsage

QUEUED_HEADER = "x-passhat-queued-s"
SHORTEST_TIMEOUT_S = 0.05


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `retries` further requests for one reply; waits double from `backoff_s` to `backoff_max_s`."""

    retries: int = 6
    backoff_s: float = 1.0
    backoff_max_s: float = 60.0
    request_timeout_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as it is passed in. `today` decides which price is in force."""

    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    today: Callable[[], date] = lambda: datetime.now(UTC).date()


@dataclass(slots=True)
class Meter:
    """What all requests of one client have used, failed ones included."""

    prices: PriceTable
    model: str
    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float | None = 0.0
    last_cost_usd: float | None = None
    calls: int = 0
    api_retries: int = 0
    rate_limited_s: float = 0.0
    model_wait_s: float = 0.0

    def charge(self, tokens: Tokens, day: date) -> float | None:
        """Add one call; returns its price, None where it is not known."""
        cost = self.prices.cost_usd(self.model, tokens, day)
        self.tokens += tokens
        self.last_cost_usd = cost
        self.cost_usd = None if cost is None or self.cost_usd is None else self.cost_usd + cost
        return cost

    def usage(self, turns: int | None = None) -> ModelUsage:
        known = self.cost_usd is not None
        return ModelUsage(
            model=self.model,
            tokens_in=self.tokens.input,
            tokens_out=self.tokens.output,
            tokens_cache_read=self.tokens.cache_read,
            tokens_cache_written=self.tokens.cache_written,
            cost_usd=self.cost_usd,
            price_version=self.prices.version if known else None,
            turns=turns,
            calls=self.calls,
            api_retries=self.api_retries,
            rate_limited_s=self.rate_limited_s,
            model_wait_s=self.model_wait_s,
        )


class ModelClient:
    """One conversation partner's line to one model. A context manager.

    `on_retry` is told (kind, message, wait_s) before each wait. `seed` spreads the waits.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        policy: RetryPolicy,
        meter: Meter,
        clock: Clock,
        on_retry: Callable[[str, str, float], None] | None = None,
        seed: int = 0,
    ) -> None:
        self.meter, self._policy, self._clock = meter, policy, clock
        self._on_retry = on_retry
        self._random = random.Random(seed)
        http = anthropic.DefaultHttpxClient(trust_env=False, follow_redirects=False)
        self._api = anthropic.Anthropic(api_key=endpoint.token, base_url=endpoint.url, max_retries=0, http_client=http)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._api.close()

    def ask(self, request: Mapping[str, object], deadline_s: float | None = None) -> Reply:
        """The model's reply to a Messages request. `deadline_s`: on the clock, when it must be there.

        Raises ModelFailureError: what is not worth another request at once, the rest when the policy's
        retries are used up; kind "deadline" when the time is.
        """
        begin_s = self._clock.monotonic()
        limited_s = self.meter.rate_limited_s
        try:
            return self._ask(request, deadline_s)
        finally:
            spent_s = self._clock.monotonic() - begin_s
            self.meter.model_wait_s += max(spent_s - (self.meter.rate_limited_s - limited_s), 0.0)

    def _ask(self, request: Mapping[str, object], deadline_s: float | None) -> Reply:
        attempt = 0
        while True:
            try:
                return self._once(request, deadline_s)
            except ModelFailureError as failure:
                if failure.kind not in RETRIED or attempt >= self._policy.retries:
                    raise
                self._wait(failure, attempt, deadline_s)
            attempt += 1
            self.meter.api_retries += 1

    def _wait(self, failure: ModelFailureError, attempt: int, deadline_s: float | None) -> None:
        policy = self._policy
        wait_s = min(policy.backoff_s * 2.0**attempt, policy.backoff_max_s) * self._random.uniform(0.5, 1.0)
        if failure.retry_after_s is not None:
            wait_s = min(failure.retry_after_s, policy.backoff_max_s)
        if deadline_s is not None and self._clock.monotonic() + wait_s >= deadline_s:
            raise ModelFailureError("deadline", f"the time was up while waiting after {failure}")
        if self._on_retry is not None:
            self._on_retry(failure.kind, failure.message, wait_s)
        self._clock.sleep(wait_s)
        if failure.kind in LIMITING:
            self.meter.rate_limited_s += wait_s

    def _once(self, request: Mapping[str, object], deadline_s: float | None) -> Reply:
        timeout_s = self._policy.request_timeout_s
        if deadline_s is not None:
            left_s = deadline_s - self._clock.monotonic()
            if left_s <= 0:
                raise ModelFailureError("deadline", "the time was up before the model was asked")
            timeout_s = min(timeout_s, max(left_s, SHORTEST_TIMEOUT_S))
        self.meter.calls += 1
        arguments: dict[str, Any] = {**request, "timeout": timeout_s}
        try:
            with self._api.messages.with_streaming_response.create(**arguments) as response:
                return self._read(response.http_response, bool(request.get("stream")), deadline_s)
        except ModelFailureError:
            raise
        except anthropic.APIStatusError as error:
            raise failure_of(error.status_code, error.body, error.response.headers.get("retry-after")) from None
        except anthropic.APITimeoutError:
            raise self._timed_out(deadline_s, timeout_s) from None
        except anthropic.APIConnectionError as error:
            raise ModelFailureError("connection", f"the gateway cannot be reached: {error.__cause__}") from None
        except httpx2.TimeoutException:
            raise self._timed_out(deadline_s, timeout_s) from None
        except httpx2.TransportError as error:
            raise ModelFailureError("truncated", f"the answer broke off: {error}") from None
        except (ValueError, TruncatedReplyError) as error:
            raise ModelFailureError("bad_reply", f"the answer cannot be read: {error}") from None

    def _timed_out(self, deadline_s: float | None, timeout_s: float) -> ModelFailureError:
        if deadline_s is not None and self._clock.monotonic() >= deadline_s - SHORTEST_TIMEOUT_S:
            return ModelFailureError("deadline", "the time was up while waiting for the model")
        return ModelFailureError("timeout", f"no answer within {timeout_s:.0f} s")

    def _read(self, http: Any, streaming: bool, deadline_s: float | None) -> Reply:
        self._add_queued(http.headers.get(QUEUED_HEADER))
        if not streaming:
            message = json.loads(http.read())
            if not isinstance(message, dict) or message.get("type") != "message":
                raise ValueError("no message object")
            reply = reply_of(message)
            self.meter.charge(reply.tokens, self._clock.today())
            return reply
        if "event-stream" not in http.headers.get("content-type", ""):
            raise ValueError(f"an answer of type {http.headers.get('content-type')!r} in place of a stream")
        builder = ReplyBuilder()
        try:
            return self._assemble(http, builder, deadline_s)
        finally:
            self.meter.charge(builder.usage, self._clock.today())

    def _assemble(self, http: Any, builder: ReplyBuilder, deadline_s: float | None) -> Reply:
        for event in Stream.raw_events(http):
            if deadline_s is not None and self._clock.monotonic() >= deadline_s:
                raise ModelFailureError("deadline", "the time was up while the model answered")
            if event.event == "error":
                raise failure_of(500, event.json())
            if event.data and event.event != "ping":
                builder.add(event.json())
        try:
            return builder.reply()
        except TruncatedReplyError as error:
            raise ModelFailureError("truncated", str(error)) from None

    def _add_queued(self, header: str | None) -> None:
        try:
            self.meter.rate_limited_s += float(header or 0.0)
        except ValueError:
            return
