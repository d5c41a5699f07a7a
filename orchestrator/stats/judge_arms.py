"""Whether a judge treats the arms alike: the gap between arms as it sees it, and equal error rates across arms.

Verdicts are 0 or 1 per trial, as in `judges`. Source: Fisher 1935 (shuffles within strata); Phipson and Smyth 2010.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator.stats.judges import about_verdicts, verdicts
from orchestrator.stats.paired import Paired, paired_values
from orchestrator.stats.sample import Estimand, Ints


@dataclass(frozen=True, slots=True)
class JudgeGap:
    """Arm second - first as the judge and as the truth see it, and by how much the judge moves the gap."""

    by_judge: Paired
    by_truth: Paired
    moved: Paired


def gap_seen(
    judge: ArrayLike,
    truth: ArrayLike,
    task: ArrayLike,
    arm: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
) -> JudgeGap:
    """Gap between two arms, arm [N] of 0 and 1, per task and paired; every task needs trials of both arms.

    >>> found = gap_seen([1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1], rng=np.random.default_rng(0))
    >>> found.by_judge.difference.value, found.by_truth.difference.value, found.moved.difference.value
    (0.5, 0.0, 0.5)
    """
    j, t, index, tasks = verdicts(judge, truth, task)
    side: NDArray[Any] = np.asarray(arm)
    if side.shape != j.shape or not set(np.unique(side).tolist()) <= {0, 1}:
        raise ValueError("arm must hold 0 or 1 for each verdict.")
    n = np.stack([np.bincount(index[side == s], minlength=tasks) for s in (0, 1)])
    if np.any(n == 0):
        raise ValueError(f"{int((n == 0).any(axis=0).sum())} tasks lack trials of one arm: match the tasks first.")
    means = [
        np.stack([np.bincount(index[side == s], weights=v[side == s], minlength=tasks) for s in (0, 1)]) / n
        for v in (j, t)
    ]
    size = n.min(axis=0)
    seen, real, moved = (
        paired_values(a, b, rng=rng, n=size, level=level, statistic=name)
        for (a, b), name in zip(
            (means[0], means[1], means[0] - means[1]), ("judged rate", "true rate", "judge error"), strict=True
        )
    )
    return JudgeGap(seen, real, moved)


@dataclass(frozen=True, slots=True)
class EqualTreatment:
    """Test that a judge errs alike on all arms. rates [A]: None where an arm has no such trial. p None with reason.

    trials: those that can tell, in tasks where several arms have such trials.
    """

    measure: str
    rates: tuple[float | None, ...]
    p: float | None
    trials: int
    shuffles: int
    estimand: Estimand
    reason: str | None = None


def equal_treatment(
    judge: ArrayLike,
    truth: ArrayLike,
    task: ArrayLike,
    arm: ArrayLike,
    *,
    rng: np.random.Generator,
    shuffles: int = 2_000,
) -> tuple[EqualTreatment, EqualTreatment]:
    """Sensitivity and specificity, each tested for equality across arms: arm [N] holds any labels.

    Verdicts are shuffled among the trials of one task with one truth, so tasks that are hard to judge cannot pass
    for a biased judge; the statistic is the squared excess of found verdicts summed over arms, p = (b+1)/(m+1).
    Undefined where no such group holds several arms and both verdicts.

    >>> judge, truth, arm = [1, 1, 1, 0, 0, 0] * 3, [1] * 18, [0, 0, 0, 1, 1, 1] * 3
    >>> task = [0] * 6 + [1] * 6 + [2] * 6
    >>> found = equal_treatment(judge, truth, task, arm, rng=np.random.default_rng(0))
    >>> found[0].rates, found[0].p < 0.01, found[1].reason
    ((1.0, 0.0), True, 'No task has several arms and both verdicts among such trials.')
    """
    j, t, index, tasks = verdicts(judge, truth, task)
    names, side = np.unique(np.asarray(arm), return_inverse=True)
    if side.size != j.size:
        raise ValueError("arm must hold a label for each verdict.")
    found = [
        _treatment(
            name, (j == value)[t == value], side[t == value], index[t == value], tasks, names.size, rng, shuffles
        )
        for name, value in (("sensitivity", 1), ("specificity", 0))
    ]
    return found[0], found[1]


def _treatment(
    measure: str,
    right: NDArray[np.bool_],
    arm: NDArray[np.intp],
    task: Ints,
    tasks: int,
    arms: int,
    rng: np.random.Generator,
    shuffles: int,
) -> EqualTreatment:
    about = about_verdicts(task, tasks, measure, f"{shuffles} shuffles within tasks")
    size = np.bincount(arm, minlength=arms)
    hits = np.bincount(arm[right], minlength=arms)
    rates = tuple(int(h) / int(s) if s else None for h, s in zip(hits, size, strict=True))
    per = np.bincount(task * arms + arm, minlength=tasks * arms).reshape(tasks, arms)
    good = np.bincount(task[right], minlength=tasks)
    tells = ((per > 0).sum(axis=1) > 1) & (good > 0) & (good < per.sum(axis=1))
    if not tells.any():
        why = "No task has several arms and both verdicts among such trials."
        return EqualTreatment(measure, rates, None, 0, 0, about, why)
    use = np.flatnonzero(tells)
    total = per[use].sum(axis=1)
    expected = (per[use] * (good[use] / total)[:, None]).sum(axis=0)
    seen = np.bincount(arm[right & tells[task]], minlength=arms)
    scale = np.maximum(per[use].sum(axis=0), 1)
    drawn = np.zeros((shuffles, arms), dtype=np.int64)
    for row in use:
        # Shuffling a task's verdicts draws each arm's right ones from an urn of all of them.
        drawn += rng.multivariate_hypergeometric(per[row], int(good[row]), size=shuffles)
    observed = float(((seen - expected) ** 2 / scale).sum())
    reached = int((((drawn - expected) ** 2 / scale).sum(axis=1) >= observed * (1 - 1e-12)).sum())
    return EqualTreatment(measure, rates, (reached + 1) / (shuffles + 1), int(total.sum()), shuffles, about)
