"""In which order clients go through their rows: the same with the compiled library and without."""

from collections.abc import Sequence

import numpy as np

from simfl.core.seeds import generator
from simfl.core.types import Ids
from simfl.training.native import INT64, POINTER, UINT64, native

_MOST = 2**31
"""Rows above which NumPy takes numbers of 64 bits."""


def shuffled_passes(
    rows: Sequence[Ids], passes: Sequence[int], seeds: Sequence[int], purpose: int
) -> list[Ids]:
    """Return each client's passes over its rows, `(passes * n,)`, each in an order of its own.

    The orders are those of NumPy's `permuted`.  Compiled, all clients together, they take less than
    half of the time, which counts where models are small.

    Args:
        rows: of each client, one at least, its rows `(n,)`.
        passes: of each client, how many.
        seeds: of each client, modulo 2^64.
        purpose: of the random numbers, see `generator`.
    """
    compiled = native("simfl_passes", INT64, UINT64, *[POINTER] * 5)
    sizes = [len(some) for some in rows]
    if compiled is None or max(sizes, default=0) >= _MOST:
        return [_in_numpy(*client, purpose) for client in zip(rows, passes, seeds, strict=True)]
    ends = np.cumsum(np.multiply(sizes, passes)).tolist()
    shuffled = np.empty(ends[-1], dtype=np.int64)
    arrays = (
        np.array([seed % 2**64 for seed in seeds], dtype=np.uint64),
        np.array(passes, dtype=np.int64),
        np.array(sizes, dtype=np.int64),
        np.concatenate(rows).astype(np.int64, copy=False),
        shuffled,
    )
    compiled(len(rows), purpose, *(array.ctypes.data for array in arrays))
    return [shuffled[first:end] for first, end in zip([0, *ends], ends, strict=False)]


def _in_numpy(rows: Ids, passes: int, seed: int, purpose: int) -> Ids:
    """Return the same of one client."""
    shuffled = np.tile(rows, (passes, 1))
    return generator(seed, purpose).permuted(shuffled, axis=1, out=shuffled).ravel()
