"""Headless Claude Code loops: JSONL rows of a script, or results of `claude -p --output-format json`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    finite,
    first_line,
    head,
    mapping,
    moment,
    whole,
)
from orchestrator.core.status import Status

_TIMEOUT_CODE = 124  # of coreutils' timeout


class ClaudeLoop:
    """JSONL rows {task, trial, pass, exit, cost, ts}, or results of `claude -p --output-format json`."""

    name = "claude-loop"

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return any('"total_cost_usd"' in head(child) for child in list(path.glob("*.json"))[:1])
        line = first_line(path)
        return '"total_cost_usd"' in line or ('"task"' in line and '"pass"' in line)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Single results name no task: the file's name without its last number is taken."""
        seen: dict[str, str] = {}
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            for number, text in _texts(file):
                source = f"{file.name}:{number}"
                try:
                    entry = mapping(json.loads(text))
                except ValueError as error:
                    yield Refused(source, f"the line is no JSON ({error}); it may be cut off")
                    continue
                session = str(entry.get("session_id") or source)
                if seen.setdefault(session, source) != source:
                    yield Refused(source, f"the session {session} is there already, in {seen[session]}")
                elif "total_cost_usd" in entry:
                    yield _headless(entry, source, file)
                else:
                    yield _row(entry, source)


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    """Each line of a file of lines that is not empty, or a whole file."""
    with file.open(encoding="utf-8", errors="replace") as stream:
        for number, text in enumerate(stream if file.suffix == ".jsonl" else [stream.read()], start=1):
            if text.strip():
                yield number, text


def _row(entry: Mapping[str, object], source: str) -> Trial | Refused:
    if entry.get("task") is None:
        return Refused(source, "the line has no task")
    if finite(entry.get("pass")) not in (0.0, 1.0):
        return Refused(source, f"pass is {entry.get('pass')!r}, which is neither true nor false")
    passed = bool(finite(entry["pass"]))
    code = whole(entry.get("exit"))
    status = Status.PASSED if passed else (Status.AGENT_TIMEOUT if code == _TIMEOUT_CODE else Status.FAILED)
    known = {"cost_usd": finite(entry.get("cost")), "agent_exit_code": code, "model": entry.get("model")}
    return Trial(
        source, "loop", str(entry.get("agent") or entry.get("model") or "claude"), str(entry["task"]), status,
        float(passed), repeat=whole(entry.get("trial")), started_at=moment(entry.get("ts")), known=known,
    )  # fmt: skip


def _headless(entry: Mapping[str, object], source: str, file: Path) -> Trial:
    """Such a result says whether the agent ended well, not whether it solved anything: no verdict."""
    failed, said = bool(entry.get("is_error")), str(entry.get("result") or "")
    status = Status.GRADER_ERROR
    if failed:
        status = Status.MODEL_ERROR if said.startswith("API Error") else Status.AGENT_ERROR
    usage, models = mapping(entry.get("usage")), list(mapping(entry.get("modelUsage")))
    known = {
        "cost_usd": finite(entry.get("total_cost_usd")), "turns": whole(entry.get("num_turns")),
        "agent_s": _seconds(entry, "duration_ms"), "model_wait_s": _seconds(entry, "duration_api_ms"),
        "tokens_in": whole(usage.get("input_tokens")), "tokens_out": whole(usage.get("output_tokens")),
        "tokens_cache_read": whole(usage.get("cache_read_input_tokens")),
        "tokens_cache_written": whole(usage.get("cache_creation_input_tokens")),
        "model": models[0] if len(models) == 1 else None,
        "failure_kind": str(entry.get("subtype") or "no verdict"),
        "failure_message": said[:300] if failed else "the result tells no verdict of a grader",
    }  # fmt: skip
    task = file.stem.rstrip("0123456789").rstrip("-_.") or file.stem
    score = 0.0 if status is Status.AGENT_ERROR else None
    return Trial(source, "loop", "claude", task, status, score, known=known)


def _seconds(entry: Mapping[str, object], key: str) -> float | None:
    told = finite(entry.get(key))
    return told / 1000 if told is not None else None
