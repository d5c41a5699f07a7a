"""Who may speak to the model, what each has used, and when the money is gone. Pure.

An attempt is told apart by its token alone. A budget stops the request after the one that reached it: what
is under way when it is reached is paid for, so it may be overshot by the requests in flight.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from orchestrator.models.prices import PriceTable
from orchestrator.models.tokens import Tokens
from orchestrator.models.usage import ModelUsage


class RefusedError(RuntimeError):
    """A request that must not reach the API. `kind`: "token", "budget" or "price"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(slots=True)
class Account:
    """What one attempt has used so far. `cost_usd` None: some call's price is not known."""

    attempt_id: str
    mode: str = "live"
    tape: str | None = None
    budget_usd: float | None = None
    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float | None = 0.0
    calls: int = 0
    queued_s: float = 0.0
    model_wait_s: float = 0.0
    models: list[str] = field(default_factory=list)

    def usage(self, price_version: str) -> ModelUsage:
        """Unknown before the first call."""
        if not self.calls:
            return ModelUsage(calls=0)
        return ModelUsage(
            model="+".join(self.models) or None,
            tokens_in=self.tokens.input,
            tokens_out=self.tokens.output,
            tokens_cache_read=self.tokens.cache_read,
            tokens_cache_written=self.tokens.cache_written,
            cost_usd=self.cost_usd,
            price_version=price_version,
            calls=self.calls,
            rate_limited_s=self.queued_s,
            model_wait_s=self.model_wait_s,
        )


@dataclass(slots=True)
class Ledger:
    """All accounts of one gateway. `sweep_budget_usd` bounds what was really spent: replays cost nothing."""

    prices: PriceTable
    today: Callable[[], date]
    sweep_budget_usd: float | None = None
    spent_usd: float = 0.0
    _by_token: dict[str, Account] = field(default_factory=dict)
    _by_attempt: dict[str, Account] = field(default_factory=dict)

    def open(self, token: str, account: Account) -> None:
        """Raises ValueError where the attempt or the token is already in use."""
        if token in self._by_token or account.attempt_id in self._by_attempt:
            raise ValueError(f"attempt {account.attempt_id} is already registered")
        self._by_token[token] = account
        self._by_attempt[account.attempt_id] = account

    def close(self, attempt_id: str) -> Account:
        """Void the attempt's token. Raises KeyError where it is not registered."""
        account = self._by_attempt.pop(attempt_id)
        self._by_token = {token: other for token, other in self._by_token.items() if other is not account}
        return account

    def account(self, attempt_id: str) -> Account:
        return self._by_attempt[attempt_id]

    def admit(self, token: str | None, model: str | None) -> Account:
        """The account this token speaks for. Raises RefusedError."""
        account = self._by_token.get(token or "")
        if account is None:
            raise RefusedError("token", "this token belongs to no running attempt")
        if model is None:
            return account
        budgets = [account.budget_usd] + ([self.sweep_budget_usd] if account.mode != "replay" else [])
        if any(b is not None for b in budgets) and self.prices.price(model, self.today()) is None:
            message = f"no price for model {model} in {self.prices.version}, so no budget can be kept"
            raise RefusedError("price", message)
        spent = account.cost_usd or 0.0
        if account.budget_usd is not None and spent >= account.budget_usd:
            said = f"the attempt has used {spent:.4f} of {account.budget_usd:.4f} USD"
            raise RefusedError("budget", said)
        if account.mode != "replay" and self.sweep_budget_usd is not None and self.spent_usd >= self.sweep_budget_usd:
            said = f"the sweep has used {self.spent_usd:.4f} of {self.sweep_budget_usd:.4f} USD"
            raise RefusedError("budget", said)
        return account

    def charge(self, account: Account, model: str, tokens: Tokens) -> None:
        """Add one call's tokens and their price."""
        cost = self.prices.cost_usd(model, tokens, self.today())
        account.tokens += tokens
        if model not in account.models:
            account.models.append(model)
        account.cost_usd = None if cost is None or account.cost_usd is None else account.cost_usd + cost
        if account.mode != "replay":
            self.spent_usd += cost or 0.0
