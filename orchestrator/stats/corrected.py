"""Scores freed of a judge's errors: Rogan and Gladen's rate, and prediction-powered inference.

Both need truth on some trials. Rogan and Gladen 1978 lean on a sensitivity and specificity that hold for this very
arm; Angelopoulos et al. 2023 (arXiv 2301.09633) and PPI++ (arXiv 2311.01453) only on labels drawn at random.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.intervals import normal_quantile, t_quantile
from orchestrator.stats.sample import (
    TASKS_LIKE_THESE,
    THESE_TASKS,
    Estimand,
    Floats,
    Interval,
    describe,
    groups,
    numbers,
    whole,
)


def rogan_gladen(
    judged: tuple[int, int],
    true_pass: tuple[int, int],
    true_fail: tuple[int, int],
    *,
    level: float = 0.95,
) -> Interval:
    """True rate behind a judged rate: (judged + specificity - 1) / (sensitivity + specificity - 1), delta method.

    Each argument is (found, of): judged passes of trials; of true passes and of true failures in a labelled sample
    apart from them, those judged rightly. Trials count as independent: for these exact tasks. The estimate is cut
    to 0..1 and says so. Undefined where the judge is no better than chance, or a labelled kind is missing.

    >>> found = rogan_gladen((60, 100), (45, 50), (40, 50))
    >>> round(found.value, 4), round(found.se, 4)
    (0.5714, 0.0854)
    """
    about = describe(
        "true rate (Rogan-Gladen)", [judged[1]], unit="trial", population=THESE_TASKS, method="delta method, normal"
    )
    for found, of in (judged, true_pass, true_fail):
        whole([found, of], "counts")
        if found > of:
            raise ValueError(f"{found} of {of} is no count.")
    missing = [
        name
        for name, (_, of) in zip(("judged", "true pass", "true fail"), (judged, true_pass, true_fail), strict=True)
        if of == 0
    ]
    if missing:
        return Interval(None, None, None, level, about, reason=f"There is no {missing[0]} trial.")
    q, sensitivity, specificity = (found / of for found, of in (judged, true_pass, true_fail))
    youden = sensitivity + specificity - 1
    if youden <= 0:
        why = "The judge is no better than chance (sensitivity + specificity <= 1): the rate cannot be recovered."
        return Interval(None, None, None, level, about, reason=why)
    raw = (q + specificity - 1) / youden
    parts = [
        rate * (1 - rate) / of * factor**2
        for rate, (_, of), factor in (
            (q, judged, 1.0),
            (sensitivity, true_pass, raw),
            (specificity, true_fail, 1 - raw),
        )
    ]
    se = float(sum(parts)) ** 0.5 / youden
    half = normal_quantile(level) * se
    value = min(1.0, max(0.0, raw))
    note = None if value == raw else f"The raw estimate {raw:.3f} lies outside 0..1 and is cut."
    low, high = (min(1.0, max(0.0, raw + side)) for side in (-half, half))
    return Interval(value, low, high, level, about, se, None, None, note)


@dataclass(frozen=True, slots=True)
class Powered:
    """A prediction-powered mean. weight: trust put in the judge, 0 (labels alone) to 1. labels_alone: the classical
    interval from the labelled trials, for comparison. bias: judge - truth on them."""

    interval: Interval
    weight: float | None
    labels_alone: Interval
    bias: float | None


def prediction_powered(
    judge: ArrayLike,
    task: ArrayLike,
    labelled_judge: ArrayLike,
    labelled_truth: ArrayLike,
    labelled_task: ArrayLike,
    *,
    level: float = 0.95,
    weight: float | None = None,
) -> Powered:
    """Mean truth per trial from judge [N] on unlabelled trials, and judge [n] with truth [n] on labelled ones.

    value = w mean(judge) + mean(truth - w judge); labelled trials must be a random subset, and not among the
    unlabelled. w is tuned for least variance (PPI++) unless given, and kept within 0..1. Errors are clustered by
    task over both parts (CR1, t). Undefined below 2 tasks with a label.

    >>> judge, truth = [1, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 0]
    >>> found = prediction_powered([1, 0] * 30, list(range(60)), judge, truth, [60, 61, 62, 63, 64, 65])
    >>> round(found.interval.value, 3), round(found.weight, 3), found.interval.se < found.labels_alone.se
    (0.333, 0.606, True)
    """
    plain, shown, truth = numbers(judge, "judge"), numbers(labelled_judge), numbers(labelled_truth)
    if shown.shape != truth.shape:
        raise ValueError("Each labelled trial needs a judge's verdict and the truth.")
    first, second = np.asarray(task), np.asarray(labelled_task)
    if first.shape != plain.shape or second.shape != shown.shape:
        raise ValueError("Each trial needs its task.")
    index, tasks, unit = groups(np.concatenate([first, second]), plain.size + shown.size)
    size = np.bincount(index, minlength=tasks)
    about = describe(
        "true rate", size, unit=unit, population=TASKS_LIKE_THESE, method="prediction-powered, CR1 by task and t"
    )
    alone = describe(
        "true rate", size, unit=unit, population=TASKS_LIKE_THESE, method="labels alone, CR1 by task and t"
    )
    here, there = index[: plain.size], index[plain.size :]
    labelled_tasks = int(np.unique(there).size)
    if labelled_tasks < 2 or plain.size == 0:
        why = (
            "Fewer than 2 tasks have a label." if plain.size else "There is no unlabelled trial: use the labels alone."
        )
        none = Interval(None, None, None, level, about, reason=why)
        return Powered(
            none, None, _from_influence(truth, _influence(truth, there, tasks), labelled_tasks, alone, level), None
        )
    judged = _influence(plain, here, tasks) - _influence(shown, there, tasks)
    label = _influence(truth, there, tasks)
    spread = float((judged**2).sum())
    tuned = -float((judged * label).sum()) / spread if spread > 0 else 0.0
    w = min(1.0, max(0.0, tuned)) if weight is None else weight
    value = w * float(plain.mean()) + float((truth - w * shown).mean())
    return Powered(
        _clustered(value, label + w * judged, labelled_tasks, about, level),
        w,
        _clustered(float(truth.mean()), label, labelled_tasks, alone, level),
        float((shown - truth).mean()),
    )


def _influence(values: Floats, index: np.ndarray, tasks: int) -> Floats:
    """Each task's share in the error of a mean over trials [tasks]."""
    if values.size == 0:
        return np.zeros(tasks)
    sums = np.bincount(index, weights=values - values.mean(), minlength=tasks) / values.size
    return np.asarray(sums, dtype=np.float64)


def _from_influence(values: Floats, influence: Floats, units: int, about: Estimand, level: float) -> Interval:
    if values.size == 0:
        return Interval(None, None, None, level, about, reason="There is no labelled trial.")
    return _clustered(float(values.mean()), influence, units, about, level)


def _clustered(value: float, influence: Floats, units: int, about: Estimand, level: float) -> Interval:
    if units < 2:
        return Interval(value, None, None, level, about, reason="Fewer than 2 tasks have a label.")
    se = float((influence**2).sum() * units / (units - 1)) ** 0.5
    if se < 1e-12:
        return Interval(
            value, None, None, level, about, 0.0, units - 1.0, "Every label agrees: no spread, no interval."
        )
    half = t_quantile(level, units - 1) * se
    return Interval(value, value - half, value + half, level, about, se, units - 1.0)
