"""Results of tau-bench (a list), and of tau2-bench: one file, or a file beside a folder of simulations."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.analysis.importers.base import (
    Options,
    Refused,
    Trial,
    UnreadableImportError,
    finite,
    graded,
    head,
    load_json,
    mapping,
    moment,
    whole,
)
from orchestrator.analysis.importers.json_stream import items, outline
from orchestrator.core.status import Status

_ENDINGS = {
    "timeout": Status.AGENT_TIMEOUT,
    "agent_error": Status.AGENT_ERROR,
    # tau2-bench leaves both out of its means; the first is the agent's doing, so here it counts.
    "context_window_exceeded": Status.AGENT_ERROR,
    "infrastructure_error": Status.SANDBOX_ERROR,
}
_ORDINARY = ("user_stop", "agent_stop", "None")


class TauBench:
    """A list of results, or the `simulations` of tau2-bench."""

    name = "tau-bench"

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return (path / "simulations").is_dir() and (path / "results.json").is_file()
        start = head(path)
        keys = ('"simulations"', '"simulation_index"', '"agent_info"', '"reward"', '"trial"')
        return ('"task_id"' in start or '"agent_info"' in start) and any(key in start for key in keys)

    def read(self, path: Path, options: Options) -> Iterator[Trial | Refused]:
        """Trials one by one; the suite is the domain, where it is told, because task ids are numbers in each."""
        file = path / "results.json" if path.is_dir() else path
        found = outline(file, "", "simulations", "tasks", "simulation_index")
        agent, suite = _who(found.members, file)
        count = 0
        for entry, source in _entries(file, found.arrays):
            count += 1
            yield _one(mapping(entry), source, agent, suite, options)
        trials = whole(mapping(found.members.get("info")).get("num_trials"))
        planned = max((trials or 0) * found.arrays.get("tasks", 0), found.arrays.get("simulation_index", 0))
        if planned > count:
            yield Refused(file.name, f"{planned - count} of {planned} planned simulations are not there")


def _who(members: Mapping[str, object], file: Path) -> tuple[str, str]:
    """The agent and the suite; tau-bench tells neither, so the file's name stands for the agent."""
    info = mapping(members.get("info"))
    agent = mapping(info.get("agent_info"))
    domain = mapping(info.get("environment_info")).get("domain_name")
    told = [str(agent[key]) for key in ("implementation", "llm") if agent.get(key)]
    return "+".join(told) or file.stem, f"tau2-bench/{domain}" if domain else "tau-bench"


def _entries(file: Path, arrays: Mapping[str, int]) -> Iterator[tuple[object, str]]:
    folder = file.parent / "simulations"
    if arrays.get("simulations") or "" in arrays:
        array = "" if "" in arrays else "simulations"
        yield from ((entry, f"{file.name}[{number}]") for number, entry in enumerate(items(file, array)))
    elif folder.is_dir():
        yield from ((load_json(child), f"simulations/{child.name}") for child in sorted(folder.glob("*.json")))
    elif "simulations" not in arrays:
        raise UnreadableImportError(f"{file} was asked for as tau-bench results, but holds no list of them.")


def _one(entry: Mapping[str, object], source: str, agent: str, suite: str, options: Options) -> Trial | Refused:
    if entry.get("task_id") is None:
        return Refused(source, "the result has no task_id")
    scored = mapping(entry.get("reward_info"))
    told = entry.get("reward", scored.get("reward"))
    reward = finite(told)
    info = mapping(entry.get("info"))
    ending = str(entry.get("termination_reason"))
    status = graded(reward, options.pass_at)
    # tau-bench writes an attempt that raised as reward 0, with the exception beside it.
    if info.get("error") or (reward is None and ending == "unexpected_error"):
        status = Status.SANDBOX_ERROR
    elif status is not Status.PASSED:
        status = _ENDINGS.get(ending, status)
    odd = told is not None and reward is None and status is Status.GRADER_ERROR
    return Trial(
        source, suite, agent, str(entry["task_id"]), status, reward,
        repeat=whole(entry.get("trial")),
        sweep=None if suite == "tau-bench" else "import-tau2-bench",
        started_at=moment(entry.get("start_time")), finished_at=moment(entry.get("end_time")),
        known=_known(entry, scored, info, reward, ending),
        remark=f"the reward is {told!r}, which is no finite number; the row is kept without a verdict" if odd else None,
    )  # fmt: skip


def _known(
    entry: Mapping[str, object],
    scored: Mapping[str, object],
    info: Mapping[str, object],
    reward: float | None,
    ending: str,
) -> dict[str, object]:
    parts = {name: finite(value) for name, value in mapping(scored.get("reward_breakdown")).items()}
    parts |= {"reward": reward, "user_cost": finite(entry.get("user_cost", info.get("user_cost")))}
    messages = entry.get("messages") or entry.get("traj")
    told = ending not in _ORDINARY
    return {
        "cost_usd": finite(entry.get("agent_cost", info.get("agent_cost"))),
        "rewards": {name: value for name, value in parts.items() if value is not None} or None,
        "turns": _turns(messages) if isinstance(messages, list) and messages else None,
        "failure_kind": "error" if info.get("error") else (ending if told else None),
        "failure_message": str(info["error"])[:300] if info.get("error") else None,
        "flags": [f"left_out_by_harness:{ending}"] if ending == "context_window_exceeded" else None,
    }


def _turns(messages: list[object]) -> int:
    return sum(mapping(message).get("role") == "assistant" for message in messages)
