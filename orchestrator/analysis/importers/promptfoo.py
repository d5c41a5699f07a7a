"""Output files of promptfoo: `results.results[]`; a prompt of a provider is an agent, a test is a task."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    finite,
    holds,
    mapping,
    moment,
    whole,
)
from orchestrator.analysis.importers.json_stream import items, outline
from orchestrator.core.status import Status

VERSIONS = (None, 1, 2, 3)
_ARRAYS = ("results.results", "results")
_ERROR = 2
_RUNTIME = ("sessionId", "_conversation")


class Promptfoo:
    """One trial per result. Repeats of a test have numbers of their own there, so a test is named by its content."""

    name = "promptfoo"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".json" and holds(path, '"promptIdx"')

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Results one by one. A result that says no score is a row without a verdict."""
        found = outline(path, *_ARRAYS)
        array = next((name for name in _ARRAYS if name in found.arrays), None)
        if array is None:
            raise UnreadableImportError(f"{path} was asked for as promptfoo output, but has no results.results.")
        version = found.members.get("results.version", found.members.get("version"))
        if version not in VERSIONS:
            raise UnreadableImportError(
                f"{path} is promptfoo output of version {version!r}, but only 1, 2 and 3 are known."
            )
        started = moment(found.members.get("results.timestamp", found.members.get("timestamp")))
        sweep = str(found.members.get("evalId") or path.stem)
        seen: set[tuple[str, str, str]] = set()
        for number, item in enumerate(items(path, array)):
            entry, source = mapping(item), f"{path.name}[{number}]"
            repeat = entry.get("repeatIndex", entry.get("repeat"))
            place = (str(entry.get("testIdx")), str(entry.get("promptIdx")), str(repeat))
            if whole(entry.get("testIdx")) is None:
                yield Refused(source, "the result has no testIdx")
            elif place in seen:
                yield Refused(source, f"test {place[0]} of prompt {place[1]} is there already")
            else:
                seen.add(place)
                yield _one(entry, source, sweep, started)


def _one(entry: Mapping[str, object], source: str, sweep: str, started: datetime | None) -> Trial:
    provider = mapping(entry.get("provider"))
    agent = str(provider.get("label") or provider.get("id") or entry.get("provider") or "provider")
    score, errored = finite(entry.get("score")), entry.get("failureReason") == _ERROR
    passed = entry.get("success", entry.get("pass"))
    status, remark = Status.PASSED if passed else Status.FAILED, None
    if errored or (score is None and entry.get("error")):
        status, score = Status.MODEL_ERROR, None
    elif score is None:
        status = Status.GRADER_ERROR
        remark = f"the score is {entry.get('score')!r}, which is no finite number; the row is kept without a verdict"
    latency = finite(entry.get("latencyMs"))
    response = mapping(entry.get("response"))
    usage = mapping(entry.get("tokenUsage") or response.get("tokenUsage"))
    named = {name: finite(value) for name, value in mapping(entry.get("namedScores")).items()}
    return Trial(
        source, "promptfoo", f"{agent}#{entry.get('promptIdx', 0)}", task_of(entry), status, score, sweep=sweep,
        started_at=started,
        finished_at=_after(started, latency),
        known={
            "cost_usd": finite(entry.get("cost")), "tokens_in": whole(usage.get("prompt")),
            "tokens_out": whole(usage.get("completion")), "tokens_cache_read": whole(usage.get("cached")),
            "rewards": {name: value for name, value in named.items() if value is not None} or None,
            "failure_message": str(entry.get("error"))[:300] if entry.get("error") else None,
            "flags": ["answered_from_cache"] if response.get("cached") else None,
        },
        remark=remark,
    )  # fmt: skip


def _after(started: datetime | None, latency_ms: float | None) -> datetime | None:
    try:
        return None if started is None or latency_ms is None else started + timedelta(milliseconds=latency_ms)
    except OverflowError:
        return None


def task_of(entry: Mapping[str, object]) -> str:
    """A name of a test by its variables and assertions, the same in every repeat and every file.

    Without any, the number it has in its file.
    """
    test = mapping(entry.get("testCase"))
    variables = {**mapping(test.get("vars")), **mapping(entry.get("vars"))}
    content = {name: value for name, value in variables.items() if name not in _RUNTIME}
    described = str(test.get("description") or entry.get("description") or "")
    if not content and not test.get("assert") and not described:
        return f"test-{entry.get('testIdx')}"
    text = json.dumps([content, test.get("assert"), described], sort_keys=True, default=str)
    words = described or " ".join(str(value) for value in content.values())
    slug = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")[:40] or "test"
    return f"{slug}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
