"""How often each unit is drawn in each replicate of a bootstrap, in blocks; knows nothing of what the units hold."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orchestrator.stats.sample import Floats

# Entries of a block of weights: small enough for the cache and below the size at which BLAS starts threads, which
# is 3 times faster than larger blocks; fixed, so that results depend on the seed alone.
_BLOCK = 1 << 15


def unit_weights(units: int, replicates: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Blocks [b, units] of how often each unit is drawn in each of the replicates; rows sum to `units`.

    >>> blocks = list(unit_weights(3, 4, np.random.default_rng(0)))
    >>> blocks[0].shape, blocks[0].sum(axis=1).tolist()
    ((4, 3), [3.0, 3.0, 3.0, 3.0])
    """
    narrow = np.uint16 if units <= np.iinfo(np.uint16).max else np.int64
    for size in _blocks(replicates, units):
        drawn = rng.integers(0, units, size=(size, units), dtype=narrow)
        place = drawn + np.arange(0, size * units, units, dtype=np.int64)[:, None]
        yield np.bincount(place.ravel(), minlength=size * units).reshape(size, units).astype(np.float64)


def draw_weights(multiplicity: NDArray[np.int64], replicates: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Blocks [b, D] of how often each of D distinct units is drawn, where multiplicity[D] units are equal.

    Equal units are drawn together, by a multinomial; where none are, as in `unit_weights`.

    >>> blocks = draw_weights(np.array([3, 1]), 2, np.random.default_rng(0))
    >>> next(blocks).sum(axis=1).tolist()
    [4.0, 4.0]
    """
    units = int(multiplicity.sum())
    if multiplicity.size == units:
        yield from unit_weights(units, replicates, rng)
        return
    for size in _blocks(replicates, multiplicity.size):
        yield rng.multinomial(units, multiplicity / units, size=size).astype(np.float64)


def _blocks(replicates: int, width: int) -> Iterator[int]:
    step = max(1, _BLOCK // width)
    for start in range(0, replicates, step):
        yield min(step, replicates - start)
