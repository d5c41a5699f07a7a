"""Prices: by model and date, overridable, unknown is null."""

from datetime import date

import pytest

from orchestrator.models.prices import PriceError, builtin_prices
from orchestrator.models.tokens import Tokens, tokens_of

DAY = date(2026, 11, 1)
MILLION = Tokens(input=1_000_000)


def test_each_kind_of_token_has_its_own_price() -> None:
    cost = builtin_prices().cost_usd
    assert cost("claude-sonnet-4-5", MILLION, DAY) == pytest.approx(3.0)
    assert cost("claude-sonnet-4-5", Tokens(output=1_000_000), DAY) == pytest.approx(15.0)
    assert cost("claude-sonnet-4-5", Tokens(cache_read=1_000_000), DAY) == pytest.approx(0.3)
    assert cost("claude-sonnet-4-5", Tokens(cache_write_5m=1_000_000), DAY) == pytest.approx(3.75)
    assert cost("claude-sonnet-4-5", Tokens(cache_write_1h=1_000_000), DAY) == pytest.approx(6.0)
    assert cost("claude-sonnet-4-5", MILLION, DAY, batch=True) == pytest.approx(1.5)


def test_a_dated_name_is_its_model_and_an_unknown_one_costs_null() -> None:
    prices = builtin_prices()
    assert prices.price("claude-sonnet-4-5-20250929", DAY) == prices.price("claude-sonnet-4-5", DAY)
    assert prices.cost_usd("gpt-unknown", MILLION, DAY) is None
    assert prices.cost_usd("claude-sonnet-4-5", MILLION, date(2020, 1, 1)) is None
    assert prices.price("scripted-erratic", DAY) is not None


def test_the_price_is_the_one_of_its_day() -> None:
    read = Tokens(cache_read=1_000_000)
    cost = builtin_prices().cost_usd
    assert cost("claude-sonnet-5-5", read, date(2026, 10, 6)) == pytest.approx(0.2)
    assert cost("claude-sonnet-5-5", read, date(2026, 10, 7)) == pytest.approx(0.1)


def test_a_long_prompt_costs_more_for_the_whole_request() -> None:
    cost = builtin_prices().cost_usd
    assert cost("claude-haiku-5-5", Tokens(input=100_000), DAY) == pytest.approx(0.01)
    long = Tokens(input=1, cache_read=100_000, output=1000)
    assert cost("claude-haiku-5-5", long, DAY) == pytest.approx((0.5 + 0.05 * 100_000 + 2.5 * 1000) / 1e6)


def test_an_override_replaces_models_and_names_itself() -> None:
    text = """{"version": "mine", "models": {"claude-sonnet-4-5": [{"from": "2020-01-01", "input": 1, "output": 1,
        "cache_write_5m": 1, "cache_write_1h": 1, "cache_read": 1}]}}"""
    plain = builtin_prices()
    mine = plain.overridden(text, "my.json")
    assert mine.cost_usd("claude-sonnet-4-5", MILLION, DAY) == pytest.approx(1.0)
    assert mine.price("claude-opus-4-5", DAY) == plain.price("claude-opus-4-5", DAY)
    assert mine.version.startswith(f"{plain.version}+mine.")


@pytest.mark.parametrize("text", ["", "[]", '{"version": "x"}', '{"version": "x", "models": {"m": [{"from": "x"}]}}'])
def test_a_table_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(PriceError, match=r"my\.json"):
        builtin_prices().overridden(text, "my.json")


def test_usage_of_the_api_as_tokens() -> None:
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 9,
        "cache_creation": {"ephemeral_1h_input_tokens": 4},
    }
    assert tokens_of(usage) == Tokens(1, 2, 3, 5, 4)
    assert tokens_of({"input_tokens": None, "output_tokens": "many"}) == Tokens()
