"""Tasks crossed with days, nodes or hours: the grid of cells that the statistics of such factors start from.

One row per task and one column per level: n [T, D] trials, total [T, D] sums of scores, total_sq [T, D] sums of
squares (left out for passes, where they equal the sums). n = 0 marks a missing cell.
"""

import numpy as np
from numpy.typing import ArrayLike

from orchestrator.stats.sample import TASKS_LIKE_THESE, Estimand, Floats, describe


def grid(n: ArrayLike, total: ArrayLike, total_sq: ArrayLike | None = None) -> tuple[Floats, Floats, Floats]:
    """Checked n, total and total_sq, each [T, D]. Raises ValueError for other shapes, NaN, or totals without trials.

    >>> grid([[1, 0]], [[1, 0]])[0].tolist()
    [[1.0, 0.0]]
    """
    trials, sums = np.asarray(n, dtype=np.float64), np.asarray(total, dtype=np.float64)
    squares = sums if total_sq is None else np.asarray(total_sq, dtype=np.float64)
    if trials.ndim != 2 or trials.shape != sums.shape or trials.shape != squares.shape:
        raise ValueError("n, total and total_sq must be grids of one shape, a row per task and a column per level.")
    if not all(np.all(np.isfinite(grid)) for grid in (trials, sums, squares)):
        raise ValueError("A grid holds a value that is not finite: mark a missing cell by n = 0 and total = 0.")
    if np.any(trials < 0) or np.any(trials != np.floor(trials)) or np.any(sums[trials == 0] != 0):
        raise ValueError("n must hold whole numbers, and a cell without trials a total of 0.")
    if total_sq is None and (np.any(sums < 0) or np.any(sums > trials)):
        raise ValueError("Without total_sq the totals must be passes, within 0..n.")
    if not trials.any():
        raise ValueError("There is no trial.")
    return trials, sums, squares


def about_grid(trials: Floats, statistic: str, unit: str, method: str) -> Estimand:
    """The estimand of a grid; its n are the trials per task over all levels, of the tasks that have any.

    >>> about_grid(np.array([[2.0, 2.0]]), "pass@1", "task and day", "none").n_max
    4
    """
    per_task = trials.sum(axis=1).astype(np.int64)
    return describe(statistic, per_task[per_task > 0], unit=unit, population=TASKS_LIKE_THESE, method=method)
