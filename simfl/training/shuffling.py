"""In which order a client goes through its rows: the same with the compiled library and without."""

from simfl.core.seeds import generator
from simfl.core.types import Ids
from simfl.training.native import INT64, POINTER, UINT64, native

_MOST = 2**31
"""Rows above which NumPy takes numbers of 64 bits."""


def shuffle(rows: Ids, seed: int, purpose: int) -> None:
    """Shuffle each row of `rows` `(passes, n)` in place, as NumPy's `permuted` does.

    Compiled it takes less than half of the time, which counts where models are small.

    Args:
        rows: contiguous, of 64-bit numbers.
        seed: modulo 2^64.
        purpose: of the random numbers, see `generator`.
    """
    compiled = native("simfl_shuffle", UINT64, UINT64, INT64, INT64, POINTER)
    passes, n = rows.shape
    if compiled is None or n >= _MOST:
        generator(seed, purpose).permuted(rows, axis=1, out=rows)
    else:
        compiled(seed % 2**64, purpose, passes, n, rows.ctypes.data)
