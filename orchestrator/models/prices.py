"""What tokens cost: a versioned table by model and date, overridable. Unknown models cost None, never 0."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.models.tokens import Tokens

MILLION = 1_000_000
_DATED = re.compile(r"-(20\d{6}|latest)$")


class PriceError(ValueError):
    """A price table that cannot be used; the message names what is wrong."""


class Rates(BaseModel):
    """USD per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_write_5m: float = Field(ge=0)
    cache_write_1h: float = Field(ge=0)
    cache_read: float = Field(ge=0)


class LongPrompt(Rates):
    """The rates of a whole request whose prompt, caches included, is longer than `above_tokens`."""

    above_tokens: int = Field(ge=1)


class Price(Rates):
    """The rates from a date on. `batch_factor` multiplies all of them for batch requests."""

    valid_from: date = Field(alias="from")
    batch_factor: float = Field(default=1.0, ge=0)
    long_prompt: LongPrompt | None = None


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    unit: str = "USD per million tokens"
    notes: tuple[str, ...] = ()
    models: dict[str, tuple[Price, ...]]


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model name. A name ending in * stands for all names that begin so."""

    version: str
    models: Mapping[str, tuple[Price, ...]]

    def price(self, model: str, day: date) -> Price | None:
        """The price in force on `day`, or None where the model or the day is not covered."""
        for name in (model, model.removesuffix("[1m]"), _DATED.sub("", model)):
            if name in self.models:
                return _in_force(self.models[name], day)
        for name, prices in self.models.items():
            if name.endswith("*") and model.startswith(name[:-1]):
                return _in_force(prices, day)
        return None

    def cost_usd(self, model: str, tokens: Tokens, day: date, batch: bool = False) -> float | None:
        """What one call cost; None where the price is not known."""
        price = self.price(model, day)
        if price is None:
            return None
        long = price.long_prompt
        rates: Rates = long if long is not None and tokens.prompt > long.above_tokens else price
        millionths = (
            tokens.input * rates.input
            + tokens.output * rates.output
            + tokens.cache_read * rates.cache_read
            + tokens.cache_write_5m * rates.cache_write_5m
            + tokens.cache_write_1h * rates.cache_write_1h
        )
        return millionths * (price.batch_factor if batch else 1.0) / MILLION

    def overridden(self, text: str, source: str) -> "PriceTable":
        """This table with the models of another one in place; the version names both."""
        other = _parse(text, source)
        mark = hashlib.sha256(text.encode()).hexdigest()[:8]
        return PriceTable(f"{self.version}+{other.version}.{mark}", {**self.models, **other.models})


def builtin_prices() -> PriceTable:
    """The table that ships."""
    text = (files("orchestrator.models") / "prices.json").read_text(encoding="utf-8")
    return _parse(text, "prices.json")


def _parse(text: str, source: str) -> PriceTable:
    try:
        file = _File.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"]) or "(whole file)"
        raise PriceError(f"{source}: {key}: {fault['msg']}") from None
    return PriceTable(file.version, file.models)


def _in_force(prices: tuple[Price, ...], day: date) -> Price | None:
    begun = [price for price in prices if price.valid_from <= day]
    return max(begun, key=lambda price: price.valid_from) if begun else None
