"""Memory of lanes: matrices one behind the other, and what is read into and recorded from them.

Two rules keep a lane's bits the same wherever it lies (measured, torch 2.13 with MKL and AVX-512).
Every matrix of a lane begins at a multiple of 64 bytes, for a product may round differently on
memory aligned otherwise.  And elementwise functions run over a multiple of 64 numbers, for a
vectorised `sigmoid` or `exp` rounds otherwise in the few left over at the end of a tensor.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import gcd

import torch

INPUT_BYTES = 2**19
"""Inputs gathered at once: they are read twice, and should still be in the cache then."""
ALIGNED = 64
"""Numbers that the memory of a lane's parameters is a multiple of."""


def aligned(numbers: int) -> int:
    """Return the least multiple of `ALIGNED` that is not less than `numbers`."""
    return -(-numbers // ALIGNED) * ALIGNED


@dataclass(frozen=True, slots=True)
class Pair:
    """Matrices, and the flat memory that begins like them."""

    matrix: torch.Tensor
    whole: torch.Tensor

    def copy(self) -> "Pair":
        """Return the same numbers elsewhere."""
        whole = self.whole.clone()
        return Pair(whole[: self.matrix.numel()].view(self.matrix.shape), whole)


class Lanes:
    """Matrices `(lanes, rows, columns)`, one behind the other, and a little memory after them.

    Args:
        lanes: how many at most.
        rows: of each matrix.
        columns: of each matrix.
    """

    def __init__(self, lanes: int, rows: int, columns: int) -> None:
        self._flat = torch.zeros(aligned(lanes * rows * columns))
        self.every = self._flat[: lanes * rows * columns].view(lanes, rows, columns)

    def take(self, lanes: int) -> Pair:
        """Return the matrices of the first lanes, and flat memory that begins like them.

        The flat memory holds a multiple of 64 numbers; the few beyond the last matrix are
        meaningless, and free to be overwritten if what follows is written later.
        """
        matrices = self.every[:lanes]
        return Pair(matrices, self._flat[: aligned(matrices.numel())])


def row_multiple(columns: int) -> int:
    """Return what the rows of a matrix must be a multiple of, to fill up multiples of 64 bytes."""
    return 16 // gcd(16, columns)


class Reader:
    """Gathers inputs, a few steps at a time, always into the same memory.

    Args:
        x: `(n, ...)` inputs.
        width: rows of each batch.
        lanes: batches of the largest step.
    """

    def __init__(self, x: torch.Tensor, width: int, lanes: int) -> None:
        self._x, self._width = x, width
        self._room = max(INPUT_BYTES // (width * x[:1].numel() * x.element_size()), lanes)
        self._buffer = x.new_empty(self._room * width, *x.shape[1:])

    def read(self, rows: torch.Tensor, counts: Sequence[int]) -> Iterator[torch.Tensor]:
        """Yield the inputs `(a, width, ...)` of each step.

        Args:
            rows: of all the steps' batches, one after the other.
            counts: batches of each step.
        """
        ends = list(accumulate(counts))
        first = begin = 0
        while first < len(counts):
            last = max(bisect_right(ends, begin + self._room), first + 1)
            some = rows[begin * self._width : ends[last - 1] * self._width]
            inputs = torch.index_select(self._x, 0, some, out=self._buffer[: some.shape[0]])
            matrices = inputs.view(-1, self._width, *self._x.shape[1:])
            yield from torch.split_with_sizes(matrices, counts[first:last])
            first, begin = last, ends[last - 1]
