"""Tokens of one or many calls, read from what the API says about usage. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens by what they cost. `input` excludes what was read from or written to the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0

    @property
    def prompt(self) -> int:
        """Everything the model read."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def cache_written(self) -> int:
        return self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
        )


def merge_usage(earlier: Mapping[str, object], later: Mapping[str, object]) -> dict[str, object]:
    """Usage of a stream: later counts are cumulative and replace earlier ones; nulls replace nothing."""
    return {**earlier, **{key: value for key, value in later.items() if value is not None}}


def tokens_of(usage: Mapping[str, object]) -> Tokens:
    """The API's usage object as tokens. Cache writes without a breakdown are five-minute writes."""
    written = _count(usage.get("cache_creation_input_tokens"))
    parts = usage.get("cache_creation")
    hour = _count(parts.get("ephemeral_1h_input_tokens")) if isinstance(parts, Mapping) else 0
    return Tokens(
        input=_count(usage.get("input_tokens")),
        output=_count(usage.get("output_tokens")),
        cache_read=_count(usage.get("cache_read_input_tokens")),
        cache_write_5m=max(written - hour, 0),
        cache_write_1h=hour,
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
