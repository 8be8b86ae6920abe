"""Weights of contributions and weighted sums of their parameters: what most aggregators share."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.core.types import Floats, Params

Weighting = Literal["samples", "uniform"]
Terms = Literal["models", "updates"]
"""What of contributions is added up or compared."""

GROUP = 16
"""Terms of a sum that are added up on their own: part of what a run's bits are."""

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


def terms_of(contributions: Sequence[Contribution]) -> Terms:
    """Return what the next model is made of: models, or updates that are added to the present one.

    Updates where some are stale: stale models would undo what was learned since.
    """
    return "updates" if any(contribution.staleness for contribution in contributions) else "models"


def sum_of(
    contributions: Sequence[Contribution], coefficients: Floats, of: Terms = "models"
) -> Floats:
    """Return `(p,)` the `GroupedSum` of ``coefficient * model`` (or update), in the order given."""
    total = np.zeros(len(contributions[0].result.params))
    for columns in blocks(len(total)):
        part = GroupedSum()
        for contribution, coefficient in zip(contributions, coefficients, strict=True):
            part.add(coefficient, block_of(contribution, columns, of))
        total[columns] = part.value()
    return total


class GroupedSum:
    """A weighted sum `(p,)` in float64: of each `GROUP` of terms, then of the groups' sums.

    Groups are fixed, so whoever adds them up (nodes of a cluster, each some of them) comes to the
    same bits as a process that adds one term after the other.  Memory: twice the sum.
    """

    def __init__(self) -> None:
        self._total: Floats | None = None
        self._group: Floats | None = None
        self._terms = 0

    def add(self, coefficient: float, vector: Params | Floats) -> None:
        """Add ``coefficient * vector`` `(p,)`, the next term."""
        if self._group is None:
            self._group = np.zeros(len(vector))
        if len(vector) <= _COLUMNS:  # parts take half as long again, which counts for small models
            self._group += np.multiply(vector, coefficient, dtype=np.float64)
        else:
            for columns in blocks(len(vector)):
                part = self._group[columns]
                part += np.multiply(vector[columns], coefficient, dtype=np.float64)
        self._terms += 1
        if self._terms == GROUP:
            self._close()

    def add_group(self, total: Floats, terms: int = GROUP) -> None:
        """Add `total` `(p,)`, the sum of the next group or of as many `terms` as it begins with.

        It becomes this sum's own to change.
        """
        if terms < GROUP:  # others of the group may follow
            self._group, self._terms = np.require(total, requirements="W"), terms
        elif self._total is None:
            self._total = np.require(total, requirements="W")
        else:
            self._total += total

    def value(self) -> Floats | None:
        """Return `(p,)` the sum, to which nothing is added any more; None: of no terms."""
        self._close()
        return self._total

    def _close(self) -> None:
        if self._group is not None:
            self.add_group(self._group)
        self._group, self._terms = None, 0


def blocks(columns: int, rows: int = 1) -> Iterator[slice]:
    """Yield slices that cover `columns` and, with `rows` rows, bound the memory."""
    width = max(1, _COLUMNS // rows)
    for low in range(0, columns, width):
        yield slice(low, low + width)


def block_of(contribution: Contribution, columns: slice, of: Terms) -> Floats:
    """Return `(columns,)` a part of a contribution's model or update, float64."""
    block = contribution.result.params[columns].astype(np.float64)
    if of == "updates":
        block -= contribution.base[columns]
    return block
