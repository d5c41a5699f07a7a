"""Accounts, budgets and the adaptive limit, without a clock of their own."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.models.ledger import Account, Ledger, RefusedError
from orchestrator.models.limiting import AdaptiveLimit
from orchestrator.models.prices import builtin_prices
from orchestrator.models.tokens import Tokens
from orchestrator.models.usage import ModelUsage, combine

CALL = Tokens(input=1000, output=200)
PRICE = 0.002


def ledger(budget: float | None = None) -> Ledger:
    return Ledger(builtin_prices(), lambda: date(2026, 11, 1), budget)


def test_only_its_own_token_opens_an_account() -> None:
    book = ledger()
    book.open("t1", Account("a"))
    book.open("t2", Account("b"))
    assert book.admit("t1", "scripted").attempt_id == "a"
    for wrong in (None, "", "t3"):
        with pytest.raises(RefusedError) as refused:
            book.admit(wrong, "scripted")
        assert refused.value.kind == "token"
    book.close("a")
    with pytest.raises(RefusedError):
        book.admit("t1", "scripted")
    with pytest.raises(ValueError, match="already"):
        book.open("t2", Account("c"))


@given(st.floats(0.0001, 0.05))
def test_a_budget_is_overshot_by_at_most_one_call(budget: float) -> None:
    book = ledger()
    account = Account("a", budget_usd=budget)
    book.open("t", account)
    while account.cost_usd < budget:  # type: ignore[operator]
        book.charge(book.admit("t", "scripted"), "scripted", CALL)
    with pytest.raises(RefusedError) as refused:
        book.admit("t", "scripted")
    assert refused.value.kind == "budget"
    assert account.cost_usd is not None
    assert budget <= account.cost_usd < budget + PRICE + 1e-9


def test_replays_cost_the_sweep_nothing() -> None:
    book = ledger(budget=PRICE / 2)
    account = Account("a", mode="replay", tape="t")
    book.open("t", account)
    for _ in range(5):
        book.charge(book.admit("t", "scripted"), "scripted", CALL)
    assert book.spent_usd == 0.0
    assert account.cost_usd == pytest.approx(5 * PRICE)


def test_one_unknown_price_makes_the_cost_unknown_for_good() -> None:
    book, account = ledger(), Account("a")
    for model in ("scripted", "odd", "scripted"):
        book.charge(account, model, CALL)
        account.calls += 1
    usage = account.usage("v")
    assert usage.cost_usd is None
    assert usage.tokens_in == 3000
    assert usage.model == "scripted+odd"


def test_nothing_asked_is_unknown_not_zero() -> None:
    assert Account("a").usage("v") == ModelUsage(calls=0)


def test_what_was_metered_goes_before_what_an_agent_says() -> None:
    said = ModelUsage(model="m", tokens_in=1, cost_usd=9.0, turns=4, api_retries=2, rate_limited_s=3.0)
    metered = ModelUsage(model="m", tokens_in=100, cost_usd=0.5, calls=6, rate_limited_s=1.0)
    both = combine(said, metered)
    assert (both.tokens_in, both.cost_usd, both.calls) == (100, 0.5, 6)
    assert (both.turns, both.api_retries, both.rate_limited_s) == (4, 2, 3.0)
    assert combine(said, None) == said
    assert combine(said, ModelUsage(calls=0)) == said


def test_a_refusal_halves_the_limit_once_and_pauses() -> None:
    limit = AdaptiveLimit(maximum=16)
    limit.refused(0.0, 5.0)
    limit.refused(1.0, 5.0)
    assert limit.limit == 8
    assert limit.wait_s(1.0, 0) == pytest.approx(4.0)
    assert limit.wait_s(5.0, 7) == 0.0
    assert limit.wait_s(5.0, 8) is None


def test_pauses_double_without_a_word_from_the_api_and_end_with_success() -> None:
    limit, now = AdaptiveLimit(maximum=4), 0.0
    pauses = []
    for _ in range(9):
        limit.refused(now, None)
        pauses.append(limit.paused_until_s - now)
        now = limit.paused_until_s
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert limit.limit == 1.0
    limit.succeeded()
    limit.refused(now, None)
    assert limit.paused_until_s - now == 1.0


@given(st.lists(st.booleans(), max_size=200))
def test_the_limit_stays_between_one_and_its_maximum(successes: list[bool]) -> None:
    limit, now = AdaptiveLimit(maximum=32), 0.0
    for success in successes:
        now += 100.0
        limit.succeeded() if success else limit.refused(now, 0.0)
        assert 1.0 <= limit.limit <= 32.0


def test_a_rate_spaces_requests() -> None:
    limit = AdaptiveLimit(maximum=100, rate_per_s=2.0)
    assert limit.wait_s(0.0, 0) == 0.0
    limit.sent(0.0)
    assert limit.wait_s(0.0, 1) == pytest.approx(0.5)
    assert limit.wait_s(0.5, 1) == 0.0
