"""What components return, held against their contracts."""

from textwrap import shorten

import numpy as np

from simfl.core.types import Floats, Ids, Params

LONGEST = 160
"""Characters of what was returned that a message shows."""


class Unexpected(Exception):
    """A component has returned what its contract does not allow."""


def expect(holds: bool | np.bool_, expected: str, got: object) -> None:
    """Raise `Unexpected`, to be told by `blaming`, unless something `holds`."""
    if not holds:
        raise Unexpected(f"expected {expected}, got {shorten(str(got), LONGEST)}")


def check_vector(vector: object, like: Params, *, finite: bool = True) -> Params:
    """Return `vector` if it is one of shape `(p,)`, float32 numbers as `like` is.

    Args:
        vector: what was returned.
        like: `(p,)`.
        finite: whether its numbers must be.

    Raises:
        Unexpected: it is not.
    """
    expected = f"{len(like)} {'finite ' if finite else ''}numbers of type float32"
    if not isinstance(vector, np.ndarray):
        raise Unexpected(f"expected {expected}, got {type(vector).__name__}")
    expect(vector.shape == like.shape, expected, f"an array of shape {vector.shape}")
    expect(vector.dtype == np.float32, expected, f"an array of {vector.dtype}")
    odd = np.flatnonzero(~np.isfinite(vector)) if finite else ()
    expect(not len(odd), expected, f"{len(odd)} that are not finite" if len(odd) else "")
    return vector


def check_weights(weights: object, n: int) -> Floats:
    """Return `weights` if they are `(n,)` finite float64 numbers.

    Raises:
        Unexpected: they are not.
    """
    expected = f"{n} finite weights, of type float64"
    if not isinstance(weights, np.ndarray):
        raise Unexpected(f"expected {expected}, got {type(weights).__name__}")
    expect(weights.shape == (n,), expected, f"an array of shape {weights.shape}")
    expect(weights.dtype == np.float64, expected, f"an array of {weights.dtype}")
    expect(bool(np.isfinite(weights).all()), expected, "some that are not")
    return weights


def check_places(places: object, n: int, *, ordered: bool = False) -> Ids:
    """Return `places` if they are `(m,)` distinct whole numbers from 0 to ``n - 1``.

    Raises:
        Unexpected: they are not.
    """
    expected = f"distinct places from 0 to {n - 1}" + (" in ascending order" if ordered else "")
    array = np.asarray(places)
    whole = array.dtype.kind in "iu" or not array.size
    expect(array.ndim == 1 and whole, expected, f"{array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    expect(not len(array) or (array.min() >= 0 and array.max() < n), expected, array)
    expect(len(np.unique(array)) == len(array), expected, array)
    expect(not ordered or bool((np.diff(array) > 0).all()), expected, array)
    return array
