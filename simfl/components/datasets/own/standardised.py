"""Inputs with mean 0 and deviation 1, each number by itself."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Flags

_AT_ONCE = 4096
"""Rows that are standardised at a time."""


def standardised(x: NDArray[Any], train: Flags) -> NDArray[np.float32]:
    """Return `x` `(n, ...)` with mean 0 and deviation 1 over `train` `(n,)`.

    Both are taken in float64, which tells times apart.  Of an input that is the same everywhere in
    `train` only the mean is subtracted.
    """
    seen = x[train]
    mean, deviation = seen.mean(0, dtype=np.float64), seen.std(0, dtype=np.float64)
    varies = (seen != seen[:1]).any(0) & (deviation > 0)  # sums of equal numbers are rounded
    mean, per = np.where(varies, mean, x[train.argmax()]), np.where(varies, deviation, 1.0)
    standard = np.empty(x.shape, dtype=np.float32)
    for first in range(0, len(x), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        standard[part] = (x[part] - mean) / per
    return standard
