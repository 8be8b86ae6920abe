"""Inputs that are tokens: whole numbers from 0, which a model with an embedding looks up."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.errors import InputError


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
