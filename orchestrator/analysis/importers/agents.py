"""Results of tau-bench, SWE-bench, promptfoo and headless Claude Code loops."""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    finite,
    first_line,
    graded,
    load_json,
    mapping,
    moment,
    whole,
)
from orchestrator.core.status import Status


class TauBench:
    """A list of results, or the `simulations` of tau2-bench."""

    name = "tau-bench"

    def recognises(self, path: Path) -> bool:
        head = _head(path)
        return '"task_id"' in head and ('"simulations"' in head or '"reward"' in head or '"trial"' in head)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        whole_file = load_json(path)
        results = mapping(whole_file).get("simulations", whole_file)
        if not isinstance(results, list):
            raise UnreadableImportError(f"{path} was asked for as tau-bench results, but holds no list of them.")
        agent = mapping(mapping(mapping(whole_file).get("info")).get("agent_info")).get("llm")
        for number, entry in enumerate(results):
            yield self._one(mapping(entry), f"{path.name}[{number}]", str(agent or path.stem), options)

    def _one(self, entry: Mapping[str, object], source: str, agent: str, options: Options) -> Trial | Refused:
        reward = finite(entry.get("reward", mapping(entry.get("reward_info")).get("reward")))
        if entry.get("task_id") is None:
            return Refused(source, "the result has no task_id")
        if reward is None:
            return Refused(source, f"the reward is {entry.get('reward')!r}, which is no finite number")
        info = mapping(entry.get("info"))
        cost = finite(entry.get("agent_cost", info.get("agent_cost")))
        user = finite(entry.get("user_cost", info.get("user_cost")))
        known = {
            "cost_usd": cost,
            "judge_cost_usd": None,
            "rewards": {"reward": reward, **({"user_cost": user} if user is not None else {})},
        }
        return Trial(
            source, "tau-bench", agent, str(entry["task_id"]), graded(reward), reward,
            repeat=whole(entry.get("trial")),
            started_at=moment(entry.get("start_time")), finished_at=moment(entry.get("end_time")),
            known=known,
        )  # fmt: skip


class SweBench:
    """A report with lists of resolved, unresolved and errored ids; one trial per id."""

    name = "swe-bench"
    _ENDINGS = (
        ("resolved_ids", Status.PASSED),
        ("resolved", Status.PASSED),
        ("unresolved_ids", Status.FAILED),
        ("unresolved", Status.FAILED),
        ("error_ids", Status.GRADER_ERROR),
        ("empty_patch_ids", Status.FAILED),
        ("incomplete_ids", Status.LOST),
    )

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".json" and ('"resolved_ids"' in _all(path) or '"resolved":' in _head(path))

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """An id in two lists is refused for the second."""
        report = mapping(load_json(path))
        name = path.name.removesuffix(".json").split(".")
        agent, run = name[0], ".".join(name[1:]) or "run"
        seen: set[str] = set()
        for key, status in self._ENDINGS:
            ids = report.get(key)
            for task in ids if isinstance(ids, list) else []:
                if str(task) in seen:
                    yield Refused(f"{path.name}/{task}", "the id stands in two lists of the report")
                    continue
                seen.add(str(task))
                score = float(status is Status.PASSED) if status.has_verdict else None
                known = {"failure_kind": key} if key in ("error_ids", "empty_patch_ids", "incomplete_ids") else {}
                yield Trial(f"{path.name}/{task}", "swe-bench", agent, str(task), status, score, sweep=run, known=known)


class Promptfoo:
    """`results.results[]` of an output file; a prompt and provider is an agent, a test is a task."""

    name = "promptfoo"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".json" and '"promptIdx"' in _all(path)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        top = mapping(load_json(path))
        results = mapping(top.get("results")).get("results", top.get("results"))
        if not isinstance(results, list):
            raise UnreadableImportError(f"{path} was asked for as promptfoo output, but has no results.results.")
        for number, entry in enumerate(results):
            yield self._one(mapping(entry), f"{path.name}[{number}]", top, options)

    def _one(
        self, entry: Mapping[str, object], source: str, top: Mapping[str, object], options: Options
    ) -> Trial | Refused:
        if whole(entry.get("testIdx")) is None:
            return Refused(source, "the result has no testIdx")
        score = finite(entry.get("score"))
        if score is None and not entry.get("error"):
            return Refused(source, f"the score is {entry.get('score')!r}, which is no finite number")
        provider = mapping(entry.get("provider"))
        agent = str(provider.get("label") or provider.get("id") or entry.get("provider") or "provider")
        status = Status.PASSED if entry.get("success") else Status.FAILED
        if entry.get("error") and entry.get("failureReason") == 2:
            status, score = Status.MODEL_ERROR, None
        latency = finite(entry.get("latencyMs"))
        started = moment(mapping(top.get("results")).get("timestamp"))
        usage = mapping(entry.get("tokenUsage"))
        return Trial(
            source, "promptfoo", f"{agent}#{entry.get('promptIdx', 0)}", f"test-{entry['testIdx']}", status, score,
            repeat=whole(entry.get("repeat", entry.get("repeatIndex"))), started_at=started,
            finished_at=started + timedelta(milliseconds=latency) if started and latency is not None else None,
            known={
                "cost_usd": finite(entry.get("cost")), "tokens_in": whole(usage.get("prompt")),
                "tokens_out": whole(usage.get("completion")),
                "failure_message": str(entry.get("error"))[:300] if entry.get("error") else None,
            },
        )  # fmt: skip


class ClaudeLoop:
    """JSONL rows {task, trial, pass, exit, cost, ts}, or results of `claude -p --output-format json`."""

    name = "claude-loop"

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return any('"total_cost_usd"' in _head(child) for child in list(path.glob("*.json"))[:1])
        line = first_line(path)
        return '"total_cost_usd"' in line or ('"task"' in line and '"pass"' in line)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Single results name no task: the file's name without its last number is taken."""
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            with file.open(encoding="utf-8") as stream:
                text = stream.readline() if file.suffix == ".jsonl" else stream.read()
                number = 0
                while text.strip():
                    number += 1
                    yield self._line(text, file, number)
                    text = stream.readline()

    def _line(self, text: str, file: Path, number: int) -> Trial | Refused:
        source = f"{file.name}:{number}"
        try:
            entry = mapping(json.loads(text))
        except ValueError as error:
            return Refused(source, f"the line is no JSON ({error}); it may be cut off")
        if "total_cost_usd" in entry:
            return self._headless(entry, source, file)
        if not isinstance(entry.get("pass"), bool | int) or entry.get("task") is None:
            return Refused(source, "the line has no task or no pass")
        passed = bool(entry["pass"])
        code = whole(entry.get("exit"))
        status = Status.PASSED if passed else (Status.AGENT_TIMEOUT if code == 124 else Status.FAILED)
        known = {"cost_usd": finite(entry.get("cost")), "agent_exit_code": code}
        return Trial(
            source, "loop", str(entry.get("agent") or entry.get("model") or "claude"), str(entry["task"]), status,
            float(passed), repeat=whole(entry.get("trial")), started_at=moment(entry.get("ts")), known=known,
        )  # fmt: skip

    def _headless(self, entry: Mapping[str, object], source: str, file: Path) -> Trial:
        """Such a result says whether the agent ended well, not whether it solved anything: no verdict."""
        failed = bool(entry.get("is_error"))
        status = Status.AGENT_ERROR if failed else Status.GRADER_ERROR
        usage = mapping(entry.get("usage"))
        known = {
            "cost_usd": finite(entry.get("total_cost_usd")), "turns": whole(entry.get("num_turns")),
            "agent_s": (finite(entry.get("duration_ms")) or 0) / 1000 if entry.get("duration_ms") is not None else None,
            "tokens_in": whole(usage.get("input_tokens")), "tokens_out": whole(usage.get("output_tokens")),
            "failure_kind": str(entry.get("subtype") or "no verdict"),
            "failure_message": "the result tells no verdict of a grader",
        }  # fmt: skip
        task = file.stem.rstrip("0123456789").rstrip("-_.") or file.stem
        return Trial(source, "loop", "claude", task, status, 0.0 if failed else None, known=known)


def _head(path: Path) -> str:
    if not path.is_file() or path.suffix not in (".json", ".jsonl"):
        return ""
    with path.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(1 << 16)


def _all(path: Path) -> str:
    if not path.is_file() or path.suffix != ".json":
        return ""
    return path.read_text(encoding="utf-8", errors="replace")
