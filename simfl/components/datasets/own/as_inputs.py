"""From inputs as they are read to what is trained on: standardised numbers, or tokens."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Flags
from simfl.errors import InputError

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


def as_tokens(x: NDArray[Any], source: Path) -> NDArray[np.int64]:
    """Return the tokens `x` `(n, ...)` that a `source` holds, of whatever type.

    Raises:
        InputError: one is no token.
    """
    whole = (x >= 0) & (x == np.rint(x))
    if not whole.all():
        raise InputError(f"{source}: tokens are whole numbers from 0, but one is {x[~whole][0]:g}")
    return x.astype(np.int64, copy=False)


def zero_between(tokens: NDArray[np.int64]) -> bool:
    """Return whether a 0 stands between other `tokens` `(n, length)`: there none is padding."""
    if tokens.ndim != 2 or not tokens.size:
        return False
    others = tokens != 0
    before, after = others.argmax(axis=1), others[:, ::-1].argmax(axis=1)
    spans = tokens.shape[1] - before - after
    return bool((others.any(axis=1) & (np.count_nonzero(others, axis=1) < spans)).any())
