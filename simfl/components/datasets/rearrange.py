"""Samples in another order, without a second copy of a large data set."""

import numpy as np

from simfl.components.datasets.clients import Samples
from simfl.core.machine.movable import movable_array
from simfl.core.types import Ids

PART_BYTES = 32 * 2**20
"""Memory beyond the samples themselves that rearranging them in place may take."""


def rearranged(samples: Samples, order: Ids, in_place: bool) -> Samples:
    """Return rows `order` of `samples`.

    Args:
        samples: n of them.
        order: `(m,)` distinct rows.
        in_place: whether the memory of `samples` may be used for the result.
    """
    x, y = samples.x, samples.y[order]
    if np.array_equal(order, np.arange(len(order))):
        return Samples(x[: len(order)], y)
    if not (in_place and x.flags.writeable and x.flags.c_contiguous):
        copy = movable_array((len(order), *x.shape[1:]), x.dtype)
        return Samples(np.take(x, order, axis=0, out=copy, mode="clip"), y)
    left = np.ones(len(x), dtype=bool)
    left[order] = False
    every = np.concatenate([order, np.flatnonzero(left)])
    flat = x.reshape(len(x), -1)
    step = max(PART_BYTES // (len(x) * x.itemsize), 1)
    for first in range(0, flat.shape[1], step):
        columns = slice(first, first + step)
        flat[:, columns] = flat[every, columns]
    return Samples(x[: len(order)], y)
