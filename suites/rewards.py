"""Reward files and rewards: parsed strictly, judged, and combined over steps. Pure.

A reward that cannot be read is an error (RewardError), never 0.
"""

import json
import math
from collections.abc import Mapping, Sequence

from suites.grading import Verdict, no_verdict

MAX_REWARD_BYTES = 65_536
ALMOST = 1e-9


class RewardError(ValueError):
    """Why a reward file gives no reward."""


def parse_reward_json(data: bytes) -> dict[str, float]:
    """A flat, non-empty object of finite numbers."""
    try:
        parsed = json.loads(data.decode("utf-8"), parse_constant=_constant, object_pairs_hook=_unique)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise RewardError(f"reward.json is not readable: {error}") from error
    if not isinstance(parsed, dict) or not parsed:
        raise RewardError("reward.json must be an object with at least one number")
    return {key: _finite(value, f"reward.json: {key!r}") for key, value in parsed.items()}


def parse_reward_text(data: bytes) -> dict[str, float]:
    """One finite number."""
    text = data.decode("utf-8", errors="replace").strip()
    if not text:
        raise RewardError("reward.txt is empty")
    try:
        number = float(text) if "_" not in text else math.nan
    except ValueError as error:
        raise RewardError(f"reward.txt is {text[:60]!r}, not one number") from error
    return {"reward": _finite(number, "reward.txt")}


def judge_rewards(rewards: Mapping[str, float], keys: Sequence[str] = (), details: str = "") -> Verdict:
    """Passed when the deciding rewards are 1: the declared keys, else "reward", else all there are."""
    missing = [key for key in keys if key not in rewards]
    if missing:
        return no_verdict("reward", "missing", f"the reward file has no {missing[0]!r}", details)
    deciding = list(keys) or (["reward"] if "reward" in rewards else list(rewards))
    passed = all(abs(rewards[key] - 1.0) <= ALMOST for key in deciding)
    return Verdict(passed, score_of(rewards, deciding), rewards=dict(rewards), details=details)


def score_of(rewards: Mapping[str, float], keys: Sequence[str]) -> float:
    return sum(rewards[key] for key in keys) / len(keys)


def meets_minimum(verdict: Verdict, minimum: Mapping[str, float] | float | None) -> bool:
    """Whether a step's verdict lets the next step start; without a verdict it does not."""
    if verdict.score is None:
        return False
    if minimum is None:
        return True
    if isinstance(minimum, Mapping):
        return all(verdict.rewards.get(key, -math.inf) >= least for key, least in minimum.items())
    return verdict.rewards.get("reward", verdict.score) >= minimum


def combine_step_verdicts(strategy: str, verdicts: Sequence[Verdict], planned: int) -> Verdict:
    """The trial's verdict from those of its steps, of which `planned` were to be run.

    "mean": per key over all planned steps, a missing step or key counts 0. "final": the last step's, and
    failed where it was not reached. A step without a verdict leaves the trial without one.
    """
    broken = next((verdict for verdict in verdicts if verdict.error_kind is not None), None)
    if broken is not None:
        return broken
    flags = tuple(dict.fromkeys(flag for verdict in verdicts for flag in verdict.flags))
    details = "\n".join(verdict.details for verdict in verdicts if verdict.details)
    cost = sum_or_none([verdict.cost_usd for verdict in verdicts])
    if strategy == "final":
        if len(verdicts) < planned or not verdicts:
            return Verdict(False, 0.0, {"reward": 0.0}, flags=flags, details=details, cost_usd=cost)
        rewards: Mapping[str, float] = verdicts[-1].rewards
    else:
        keys = list(dict.fromkeys(key for verdict in verdicts for key in verdict.rewards)) or ["reward"]
        total = {key: sum(verdict.rewards.get(key, 0.0) for verdict in verdicts) for key in keys}
        rewards = {key: value / max(planned, 1) for key, value in total.items()}
    judged = judge_rewards(rewards, details=details)
    grader = verdicts[-1].grader if verdicts else "reward"
    passed = bool(judged.passed) and (strategy != "final" or bool(verdicts[-1].passed))
    return Verdict(passed, judged.score, judged.rewards, grader, flags=flags, details=details, cost_usd=cost)


def sum_or_none(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _finite(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RewardError(f"{what} is {str(value)[:60]!r}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RewardError(f"{what} is {number}, not a finite number")
    return number


def _constant(name: str) -> float:
    raise RewardError(f"{name} is no finite number")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RewardError("a key is there twice")
    return found
