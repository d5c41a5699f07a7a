"""One sample of an Inspect AI log: its score, how it ended, and what it tells. Reads no file."""

from collections.abc import Iterator, Mapping

from orchestrator.analysis.importers.base import Options, finite, mapping, whole
from orchestrator.core.status import Origin, Status

_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_LIMITS = {"time": Status.AGENT_TIMEOUT, "working": Status.AGENT_TIMEOUT, "operator": Status.CANCELLED}


def chosen(scores: Mapping[str, object], asked: str | None) -> object:
    """The value of the score asked for as "scorer" or "scorer.key", else of the first. Raises KeyError."""
    if not scores:
        return None
    name = asked if asked is None or asked in scores else asked.rpartition(".")[0]
    if name is not None and name not in scores:
        raise KeyError(asked)
    value = mapping(next(iter(scores.values())) if name is None else scores[name]).get("value")
    if name == asked:
        return value
    key = str(asked).rpartition(".")[2]
    if key not in mapping(value):
        raise KeyError(asked)
    return mapping(value)[key]


def number_of(value: object) -> float | None:
    """A score as a number: Inspect's letters and words, numbers and truth values; None for what is none.

    Inspect counts an unknown word as 0; here it is no verdict.
    """
    if isinstance(value, str):
        return _LETTERS.get(value, _WORDS.get(value.lower(), finite(value)))
    return finite(value)


def remark_of(value: object, score: float | None, status: Status) -> str | None:
    """What is odd about a score that gives no verdict; NaN is how Inspect marks a sample without a score."""
    if value is None or score is not None or status.origin is not Origin.INFRASTRUCTURE:
        return None
    return f"the score {value!r} is no finite number and no letter of Inspect's; the row is kept without a verdict"


def status_of(sample: Mapping[str, object], score: float | None, options: Options) -> Status:
    """How a sample ended; what Inspect leaves out of its means has an ending without a verdict."""
    if sample.get("error"):
        message = str(mapping(sample.get("error")).get("message"))
        return Status.CANCELLED if message.startswith("CancelledError") else Status.SANDBOX_ERROR
    limit = str(mapping(sample.get("limit")).get("type") or "")
    if score is None:
        return _LIMITS.get(limit, Status.GRADER_ERROR)
    if score >= options.pass_at - 1e-6:
        return Status.PASSED
    return _LIMITS.get(limit, Status.FAILED)


def columns_of(
    sample: Mapping[str, object],
    evaluation: Mapping[str, object],
    scores: Mapping[str, object],
) -> dict[str, object]:
    """The further columns that a sample tells."""
    usage = [mapping(value) for value in mapping(sample.get("model_usage")).values()]

    def total(key: str) -> int | None:
        found = [whole(entry.get(key)) for entry in usage]
        return sum(value for value in found if value is not None) if any(v is not None for v in found) else None

    costs = [finite(entry.get("total_cost")) for entry in usage]
    retries = sample.get("error_retries")
    numbers = dict(_numbers(scores))
    limit = mapping(sample.get("limit"))
    error = mapping(sample.get("error"))
    return {
        "suite_version": str(evaluation.get("task_version")) if evaluation.get("task_version") is not None else None,
        "model": evaluation.get("model"),
        "rewards": numbers or None,
        "grader": "+".join(scores) or None,
        "tokens_in": total("input_tokens"),
        "tokens_out": total("output_tokens"),
        "tokens_cache_read": total("input_tokens_cache_read"),
        "tokens_cache_written": total("input_tokens_cache_write"),
        "cost_usd": sum(c for c in costs if c is not None) if any(c is not None for c in costs) else None,
        "total_s": finite(sample.get("total_time")),
        "agent_ending": "limit" if limit else None,
        "failure_kind": "error" if error else (str(limit.get("type")) if limit else None),
        "failure_message": str(error.get("message"))[:300] if error else None,
        "flags": [f"retried_in_harness:{len(retries)}"] if isinstance(retries, list) and retries else None,
    }


def _numbers(scores: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Every number of every scorer, under its name, or scorer.key where it holds several."""
    for name, score in scores.items():
        value = mapping(score).get("value")
        several = value if isinstance(value, Mapping) else {"": value}
        for key, one in several.items():
            found = number_of(one)
            if found is not None:
                yield f"{name}.{key}" if key else name, found
