"""The statistics in use, by one name each: the only place where analysis meets the arithmetic."""

from math import comb

import numpy as np
from numpy.typing import NDArray


def mean_pass_at(n: NDArray[np.int64], c: NDArray[np.int64], k: int) -> float:
    """pass@k averaged over tasks."""
    return float(np.mean([1 - comb(a - b, k) / comb(a, k) for a, b in zip(n.tolist(), c.tolist(), strict=True)]))


def mean_pass_hat(n: NDArray[np.int64], c: NDArray[np.int64], k: int) -> float:
    """pass^k averaged over tasks."""
    return float(np.mean([comb(b, k) / comb(a, k) for a, b in zip(n.tolist(), c.tolist(), strict=True)]))
