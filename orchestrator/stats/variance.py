"""Where the variance of an arm's score comes from: between tasks, and within tasks from trial to trial.

Unbiased and plug-in values are both given and named, because published figures use either. Miller 2024
(arXiv 2411.00640), sections 2 and 3; the plug-in within-task part is low by (n-1)/n.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Floats, describe, numbers, whole


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """Variances of a score per trial, in squared score units (0..1 for pass or fail).

    observed: Var of the task means, ddof=1: between tasks plus what is left of the noise within them.
    within_plugin, within_unbiased: mean over tasks of the variance of a single trial, divisor n or n-1.
    between_plugin: `observed` as it is. between_raw: observed - mean(s_i^2 / n_i), which can be negative.
    between_unbiased: between_raw clipped at 0 (see `note`). icc: between / (between + within).
    design_effect: variance of the mean over that of as many independent trials.
    removable_share: share of the squared standard error that more repeats could still remove, at most 1.
    se_now, se_infinite_repeats: standard error of the mean over tasks now, and with endless repeats.
    """

    mean: float | None
    observed: float | None
    within_plugin: float | None
    within_unbiased: float | None
    between_plugin: float | None
    between_raw: float | None
    between_unbiased: float | None
    icc: float | None
    design_effect: float | None
    removable_share: float | None
    se_now: float | None
    se_infinite_repeats: float | None
    estimand: Estimand
    reason: str | None = None
    note: str | None = None


def trial_variances(n: ArrayLike, total: ArrayLike, total_sq: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Variance of a single trial of each task [T], plug-in (divisor n) and unbiased (divisor n-1; NaN at n = 1).

    total and total_sq are the sum and the sum of squares of the scores; without total_sq, total counts passes.

    >>> [v.tolist() for v in trial_variances([2, 4], [1, 2])]
    [[0.25, 0.25], [0.5, 0.3333333333333333]]
    """
    trials, sums = whole(n, "n").astype(np.float64), numbers(total, "total")
    squares = sums if total_sq is None else numbers(total_sq, "total_sq")
    plugin = np.maximum(squares / trials - (sums / trials) ** 2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        unbiased = np.where(trials > 1, plugin * trials / (trials - 1), np.nan)
    return plugin, unbiased


def variance_parts(n: ArrayLike, total: ArrayLike, total_sq: ArrayLike | None = None) -> VarianceParts:
    """Split the variance of an arm. Undefined with a reason below 2 tasks; the split also where a task has n = 1.

    >>> parts = variance_parts([10] * 4, [10, 10, 5, 0])
    >>> round(parts.observed, 4), round(parts.within_unbiased, 4), round(parts.between_unbiased, 4)
    (0.2292, 0.0694, 0.2222)
    """
    trials = whole(n, "n")
    about = describe("variance of the score", trials, unit="task", population=TASKS_LIKE_THESE, method="moments")
    if trials.size < 2:
        return _undefined(about, "Below 2 tasks there is no variance between tasks.")
    if np.any(trials < 1):
        raise ValueError("A task has no trial: leave it out, and say so, before asking for a statistic.")
    means = numbers(total, "total") / trials
    plugin, unbiased = trial_variances(trials, total, total_sq)
    mean, observed, se_now = float(means.mean()), float(means.var(ddof=1)), float(means.std(ddof=1) / trials.size**0.5)
    if np.any(trials < 2):
        alone = int((trials < 2).sum())
        reason = f"{alone} of {trials.size} tasks have a single trial: within-task noise cannot be told from the rest."
        return _undefined(about, reason, mean=mean, observed=observed, plugin=float(plugin.mean()), se_now=se_now)
    within = float(unbiased.mean())
    noise = float((unbiased / trials).mean())
    raw = observed - noise
    between = max(raw, 0.0)
    note = None
    if raw < 0:
        note = f"The between-task variance came out at {raw:.4g} and was clipped to 0: noise explains all of it."
    whole_variance = between + within
    return VarianceParts(
        mean,
        observed,
        float(plugin.mean()),
        within,
        observed,
        raw,
        between,
        between / whole_variance if whole_variance > 0 else None,
        _design_effect(observed, trials, total, total_sq),
        min(1.0, noise / observed) if observed > 0 else None,
        se_now,
        (between / trials.size) ** 0.5,
        about,
        None if whole_variance > 0 else "All trials scored alike: shares of no variance are undefined.",
        note,
    )


def _design_effect(observed: float, n: np.ndarray, total: ArrayLike, total_sq: ArrayLike | None) -> float | None:
    all_trials = np.array([n.sum()])
    sums = numbers(total, "total")
    squares = None if total_sq is None else [numbers(total_sq, "total_sq").sum()]
    pooled = float(trial_variances(all_trials, [sums.sum()], squares)[0][0])
    if pooled == 0:
        return None
    return (observed / n.size) / (pooled / float(n.sum()))


def _undefined(
    about: Estimand,
    reason: str,
    *,
    mean: float | None = None,
    observed: float | None = None,
    plugin: float | None = None,
    se_now: float | None = None,
) -> VarianceParts:
    none = None
    return VarianceParts(
        mean, observed, plugin, none, observed, none, none, none, none, none, se_now, none, about, reason
    )
