"""Weights of contributions and weighted sums of their parameters: what most aggregators share."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.core.types import Floats, Params

Weighting = Literal["samples", "uniform"]

_COLUMNS = 1 << 16  # half a MiB of float64: stays in the cache, bounds the memory


def weights_of(contributions: Sequence[Contribution], weighting: Weighting) -> Floats:
    """Return `(r,)` weights that sum to 1: by training samples or equal, times copies drawn.

    All zero if nobody has a sample.
    """
    samples = [contribution.result.samples for contribution in contributions]
    return shares(samples, [contribution.copies for contribution in contributions], weighting)


def shares(samples: Sequence[int], copies: Sequence[int], weighting: Weighting) -> Floats:
    """Return `(r,)` the same of clients' samples, and of how often each was drawn."""
    counts = [
        times * (size if weighting == "samples" else 1)
        for size, times in zip(samples, copies, strict=True)
    ]
    return np.array(counts, dtype=np.float64) / max(sum(counts), 1)


def sum_of(
    contributions: Sequence[Contribution],
    coefficients: Floats,
    of: Literal["models", "updates"] = "models",
) -> Floats:
    """Return `(p,)` the sum of ``coefficient * model`` (or update), float64, in the order given."""
    total = np.zeros(len(contributions[0].result.params))
    for columns in blocks(len(total)):
        for contribution, coefficient in zip(contributions, coefficients, strict=True):
            total[columns] += coefficient * block_of(contribution, columns, of)
    return total


def add(total: Floats, coefficient: float, model: Params) -> None:
    """Add ``coefficient * model`` `(p,)` to `total`, as `sum_of` does."""
    for columns in blocks(len(total)):
        total[columns] += coefficient * model[columns].astype(np.float64)


def blocks(columns: int, rows: int = 1) -> Iterator[slice]:
    """Yield slices that cover `columns` and, with `rows` rows, bound the memory."""
    width = max(1, _COLUMNS // rows)
    for low in range(0, columns, width):
        yield slice(low, low + width)


def block_of(
    contribution: Contribution, columns: slice, of: Literal["models", "updates"] = "models"
) -> Floats:
    """Return some columns of a contribution's model or update, float64."""
    block = contribution.result.params[columns].astype(np.float64)
    if of == "updates":
        block -= contribution.base[columns]
    return block
