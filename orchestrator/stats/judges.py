"""How far a judge agrees with tests or people, on one arm: agreement beyond chance, and each kind of error.

Verdicts are 0 or 1 per trial (1 = pass); truth is the tests' or a person's. Sources: Cohen 1960; Fleiss, Cohen and
Everitt 1969 (error of kappa, here clustered by task); Byrt, Bishop and Carlin 1993 (PABAK); Gwet 2008 (AC1).
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator.stats.intervals import cluster_error, korn_graubard, t_quantile
from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Floats, Interval, Ints, describe, groups

Weights = Literal["none", "linear", "quadratic"]


def cohen_kappa(table: ArrayLike, weights: Weights = "none") -> float | None:
    """Cohen's kappa of a square table [C, C] of counts, rows one rater and columns the other.

    weights for graded scores: disagreement counts |i-j| ("linear") or (i-j)^2 ("quadratic"). None where a rater
    is constant on one category, and where the table is empty.

    >>> round(cohen_kappa([[358, 6], [20, 36]]), 4), cohen_kappa([[10, 0], [0, 0]])
    (0.7005, None)
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or np.any(counts < 0):
        raise ValueError("kappa needs a square table of counts.")
    size = float(counts.sum())
    if max(counts.sum(axis=axis).max(initial=0.0) for axis in (0, 1)) == size:
        return None
    gap = np.abs(np.subtract.outer(np.arange(len(counts)), np.arange(len(counts)))).astype(np.float64)
    cost = {"none": (gap > 0).astype(np.float64), "linear": gap, "quadratic": gap**2}[weights]
    chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / size
    expected = float((cost * chance).sum())
    return 1 - float((cost * counts).sum()) / expected


def label_table(first: ArrayLike, second: ArrayLike) -> Ints:
    """Counts [C, C] of labels given by two raters, labels in sorted order.

    >>> label_table(["a", "b", "b"], ["a", "b", "a"]).tolist()
    [[1, 0], [1, 1]]
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError("Both raters must label the same items.")
    names, index = np.unique(np.concatenate([a, b]), return_inverse=True)
    rows, columns = index.reshape(-1)[: a.size], index.reshape(-1)[a.size :]
    flat = np.bincount(rows * names.size + columns, minlength=names.size**2)
    return flat.reshape(names.size, names.size).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge against the truth on one arm. Each interval is clustered by task, for tasks like these.

    kappa is undefined where a rater is constant. sensitivity: passes found among true passes; specificity: failures
    found among true failures; undefined without any. pabak, ac1: agreement beyond chance by rules that prevalence
    does not upset, 0 at chance and 1 at best. table: [[true fail], [true pass]] x (judged fail, judged pass).
    """

    agreement: Interval
    kappa: Interval
    sensitivity: Interval
    specificity: Interval
    pabak: Interval
    ac1: Interval
    prevalence: float | None
    judged: float | None
    table: tuple[tuple[int, int], tuple[int, int]]
    estimand: Estimand
    reason: str | None = None


def agreement(judge: ArrayLike, truth: ArrayLike, task: ArrayLike, *, level: float = 0.95) -> Agreement:
    """Compare verdicts judge [N] with truth [N] (0 or 1) of trials of tasks task [N].

    Trials count alike. The rates have Korn-Graubard's interval clustered by task, the coefficients linearised CR2
    errors and t, cut to -1..1; undefined below 2 tasks or where every task shows the same.

    >>> found = agreement([1, 1, 0, 0, 1, 0], [1, 1, 0, 1, 1, 0], [0, 0, 1, 1, 2, 2])
    >>> round(found.kappa.value, 3), found.sensitivity.value, found.specificity.value
    (0.667, 0.75, 1.0)
    """
    j, t, index, tasks = verdicts(judge, truth, task)
    about = about_verdicts(index, tasks, "agreement", "linearised, CR2 by task and t")
    counts = np.bincount(2 * t + j, minlength=4).tolist()
    table = ((counts[0], counts[1]), (counts[2], counts[3]))
    if j.size == 0:
        none = Interval(None, None, None, level, about, reason="There is no verdict.")
        return Agreement(none, none, none, none, none, none, None, None, table, about, none.reason)
    same = (j == t).astype(np.float64)
    po, pj, pt = float(same.mean()), float(j.mean()), float(t.mean())

    pi = (pj + pt) / 2
    chance = 2 * pi * (1 - pi)
    ac1 = (po - chance) / (1 - chance)
    ac1_influence = ((same - po) - (1 - ac1) * (1 - 2 * pi) * (j + t - pj - pt)) / (1 - chance)
    return Agreement(
        _rate("agreement", j == t, np.ones(j.size, dtype=np.bool_), "", index, tasks, level),
        _kappa(j, t, index, tasks, level),
        _rate("sensitivity", j == 1, t == 1, "The truth holds no pass.", index, tasks, level),
        _rate("specificity", j == 0, t == 0, "The truth holds no failure.", index, tasks, level),
        _linearised("PABAK", 2 * po - 1, 2 * (same - po), index, tasks, level),
        _linearised("Gwet's AC1", ac1, ac1_influence, index, tasks, level),
        pt,
        pj,
        table,
        about,
    )


def _kappa(j: Ints, t: Ints, index: Ints, tasks: int, level: float) -> Interval:
    po, pj, pt = float((j == t).mean()), float(j.mean()), float(t.mean())
    about = about_verdicts(index, tasks, "Cohen's kappa", "linearised, CR2 by task and t")
    for name, rate in (("judge", pj), ("truth", pt)):
        if rate in (0.0, 1.0):
            why = f"The {name} gave one verdict throughout: kappa is undefined."
            return Interval(None, None, None, level, about, reason=why)
    pe = pj * pt + (1 - pj) * (1 - pt)
    kappa = (po - pe) / (1 - pe)
    other = np.where(j == 1, pt, 1 - pt) + np.where(t == 1, pj, 1 - pj) - 2 * pe
    influence = ((j == t) - po - (1 - kappa) * other) / (1 - pe)
    return _linearised("Cohen's kappa", kappa, influence, index, tasks, level)


def _rate(
    name: str,
    hit: NDArray[np.bool_],
    among: NDArray[np.bool_],
    missing: str,
    index: Ints,
    tasks: int,
    level: float,
) -> Interval:
    about = about_verdicts(index[among], tasks, name, "Korn-Graubard on task rates weighted by trials")
    if not among.any():
        return Interval(None, None, None, level, about, reason=missing)
    found = korn_graubard(hit[among].astype(np.float64), cluster=index[among], level=level, statistic=name)
    return replace(found, estimand=about)


def _linearised(name: str, value: float, influence: Floats, index: Ints, tasks: int, level: float) -> Interval:
    """Interval from per-trial influences: value -/+ t * CR2 error of their mean, cut to -1..1."""
    about = about_verdicts(index, tasks, name, "linearised, CR2 by task and t")
    _, compact = np.unique(index, return_inverse=True)
    error = cluster_error(np.bincount(compact, weights=influence), np.bincount(compact))
    if error.se is None or error.df is None:
        return Interval(value, None, None, level, about, reason=error.reason)
    if error.se < 1e-12:
        why = "Every task shows the same: no spread, no interval."
        return Interval(value, None, None, level, about, 0.0, error.df, why)
    half = t_quantile(level, error.df) * error.se
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Interval(value, low, high, level, about, error.se, error.df)


def verdicts(judge: ArrayLike, truth: ArrayLike, task: ArrayLike) -> tuple[Ints, Ints, Ints, int]:
    """Checked verdicts and truth [N] of 0 and 1, the task index of each [N], and the number of tasks.

    >>> verdicts([1], [0], ["a"])[3]
    1
    """
    pair = [np.atleast_1d(np.asarray(values)) for values in (judge, truth)]
    if pair[0].ndim != 1 or pair[0].shape != pair[1].shape:
        raise ValueError("The judge and the truth must rate the same trials.")
    if any(values.size and not set(np.unique(values).tolist()) <= {0, 1} for values in pair):
        raise ValueError("Verdicts are 0 or 1: leave ungraded trials out, and say how many.")
    index, tasks, _ = groups(task, pair[0].size)
    return pair[0].astype(np.int64), pair[1].astype(np.int64), index, tasks


def about_verdicts(index: Ints, tasks: int, statistic: str, method: str) -> Estimand:
    """The estimand of verdicts on trials of the tasks index [N]; tasks without one are not counted.

    >>> about_verdicts(np.array([0, 0, 2]), 3, "kappa", "none").tasks
    2
    """
    size = np.bincount(index, minlength=tasks) if index.size else np.zeros(0, dtype=np.int64)
    return describe(statistic, size[size > 0], unit="task", population=TASKS_LIKE_THESE, method=method)
