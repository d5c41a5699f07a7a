"""How much faster the task bootstrap is than a plain loop and than scipy's, as ratios of processor time in one run.

Processor time, since other work on the machine must not decide; every method here runs on one core.
"""

import random
import statistics
import time
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
from scipy import stats

from orchestrator.stats.bootstrap import bootstrap, percentile
from orchestrator.stats.passk import task_curve

TASKS, TRIALS, K_MAX, REPLICATES = 500, 10, 10, 10_000


def rows() -> list[dict[str, Any]]:
    """Rows of name, value, unit, aim and whether the aim holds; medians of rounds that interleave the methods."""
    rng = np.random.default_rng(0)
    n = np.full(TASKS, TRIALS)
    c = rng.binomial(TRIALS, rng.beta(0.6, 0.6, TASKS))
    graded = rng.beta(0.6, 0.6, (TASKS, K_MAX))
    ours, all_distinct, theirs, loop = [], [], [], []
    for seed in range(5):
        ours.append(_seconds(lambda s=seed: _ours(n, c, s)))
        all_distinct.append(_seconds(lambda s=seed: percentile(bootstrap(graded, rng=np.random.default_rng(s)))))
        theirs.append(_seconds(lambda s=seed: _scipy(n, c, s)))
        # The loop is linear in its replicates: 1 in 50 of them, times 50.
        loop.append(50 * _seconds(lambda s=seed: _plain_loop(n, c, REPLICATES // 50, s)))
    fast, scipy_s, loop_s = (statistics.median(times) for times in (ours, theirs, loop))
    slow = statistics.median(all_distinct)
    return [
        _row("task bootstrap, 500 tasks, k = 1..10, 10,000 replicates", fast, "s", None),
        _row("the same against a plain Python loop", loop_s / fast, "times faster", 100.0),
        _row("the same against scipy.stats.bootstrap", scipy_s / fast, "times faster", 3.0),
        _row("500 distinct tasks x 10 columns against a plain Python loop", loop_s / slow, "times faster", None),
        _row("500 distinct tasks x 10 columns against scipy.stats.bootstrap", scipy_s / slow, "times faster", 3.0),
    ]


def _row(name: str, value: float, unit: str, aim: float | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "unit": unit, "aim": aim, "holds": aim is None or value >= aim}


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _ours(n: np.ndarray, c: np.ndarray, seed: int) -> object:
    return percentile(bootstrap(task_curve(n, c, K_MAX), rng=np.random.default_rng(seed), replicates=REPLICATES))


def _scipy(n: np.ndarray, c: np.ndarray, seed: int) -> object:
    """scipy's, given its best case: values computed beforehand, one vectorised call, resamples in batches."""
    values = task_curve(n, c, K_MAX)
    return stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=REPLICATES,
        axis=0,
        vectorized=True,
        batch=500,
        method="percentile",
        rng=np.random.default_rng(seed),
    )


def _plain_loop(n: np.ndarray, c: np.ndarray, replicates: int, seed: int) -> list[list[float]]:
    """The loop one would write: per task values once, then draw tasks and average, in pure Python."""
    draw = random.Random(seed)
    values = [
        [1 - comb(int(a) - int(b), k) / comb(int(a), k) for k in range(1, K_MAX + 1)] for a, b in zip(n, c, strict=True)
    ]
    found = []
    for _ in range(replicates):
        chosen = [values[draw.randrange(TASKS)] for _ in range(TASKS)]
        found.append([sum(task[k] for task in chosen) / TASKS for k in range(K_MAX)])
    return found


if __name__ == "__main__":
    for row in rows():
        print(row)
