"""Ready command lines of real tools, and how their output is read. Pure.

A preset is data: the command line, the variables that lead the tool to the gateway, the Dockerfile lines
that install it, and the name of a result parser. A tool without a preset is a `command` agent whose
sweep file says the same four things itself.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchestrator.models.usage import ModelUsage


@dataclass(frozen=True, slots=True)
class Preset:
    """A tool's command line. Templates: {instruction}, {instruction_file}, {model}, {base_url}, {token}."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    install: tuple[str, ...] = ()
    parser: str = "none"
    needs_model: bool = True


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a tool said about its own run. `error` is a health signal and never the verdict."""

    usage: ModelUsage = field(default_factory=ModelUsage)
    version: str | None = None
    error: str | None = None
    text: str | None = None


PRESETS: Mapping[str, Preset] = {
    "claude-code": Preset(
        argv=(
            "bash",
            "-c",
            'claude -p --output-format json --dangerously-skip-permissions --model "$1" < "$2"',
            "claude",
            "{model}",
            "{instruction_file}",
        ),
        env={
            "ANTHROPIC_BASE_URL": "{base_url}",
            "ANTHROPIC_API_KEY": "{token}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        },
        install=(
            "RUN curl -fsSL https://claude.ai/install.sh | bash && cp /root/.local/bin/claude /usr/local/bin/claude",
        ),
        parser="claude-json",
    ),
}


def parse_nothing(output: str) -> Parsed:
    """For tools that say nothing about their run: everything unknown."""
    return Parsed()


def parse_claude_json(output: str) -> Parsed:
    """The last JSON object with type "result" of `claude -p --output-format json` (or stream-json).

    An output without one is an error; numbers that are missing or malformed stay unknown.
    """
    result = _last_result(output)
    if result is None:
        return Parsed(error="no result object in the output of claude -p")
    said = result.get("usage")
    tokens: Mapping[str, object] = said if isinstance(said, dict) else {}
    models = result.get("modelUsage")
    usage = ModelUsage(
        model=next(iter(models)) if isinstance(models, dict) and len(models) == 1 else None,
        tokens_in=_count(tokens.get("input_tokens")),
        tokens_out=_count(tokens.get("output_tokens")),
        tokens_cache_read=_count(tokens.get("cache_read_input_tokens")),
        tokens_cache_written=_count(tokens.get("cache_creation_input_tokens")),
        cost_usd=_number(result.get("total_cost_usd")),
        price_version="reported by claude -p" if _number(result.get("total_cost_usd")) is not None else None,
        turns=_count(result.get("num_turns")),
        model_wait_s=_seconds(result.get("duration_api_ms")),
    )
    text = result.get("result")
    failed = result.get("is_error") is True
    subtype = str(result.get("subtype", "error"))
    return Parsed(
        usage=usage,
        error=f"claude -p reported {subtype}" if failed or subtype.startswith("error") else None,
        text=text if isinstance(text, str) else None,
    )


PARSERS: Mapping[str, Callable[[str], Parsed]] = {"none": parse_nothing, "claude-json": parse_claude_json}


def _last_result(output: str) -> dict[str, object] | None:
    candidates = [output, *reversed(output.splitlines())]
    for text in candidates:
        try:
            value = json.loads(text)
        except ValueError:
            continue
        listed = value if isinstance(value, list) else [value]
        for item in reversed(listed):
            if isinstance(item, dict) and item.get("type") == "result":
                return item
    return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _seconds(milliseconds: object) -> float | None:
    number = _number(milliseconds)
    return None if number is None else number / 1000.0
