"""What robust aggregators share: statistics of each coordinate, and distances of updates."""

from collections.abc import Callable, Sequence

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.weighting import block_of, blocks, terms_of
from simfl.core.types import Floats, Params


def by_coordinate(
    model: Params, contributions: Sequence[Contribution], statistic: Callable[[Floats], Floats]
) -> Params:
    """Return `(p,)` the statistic of each coordinate.

    Args:
        model: `(p,)` the present one.
        contributions: one drawn twice counts twice.  Where some are stale it is the statistic of
            the updates, added to `model`: see `terms_of`.
        statistic: `(r, columns)` values -> `(columns,)`.
    """
    models = [c for c in contributions for _ in range(c.copies)]
    of = terms_of(contributions)
    result = np.empty(len(model), dtype=np.float32)
    for columns in blocks(len(result), rows=len(models)):
        value = statistic(np.stack([block_of(c, columns, of) for c in models]))
        result[columns] = model[columns] + value if of == "updates" else value
    return result


def distances(contributions: Sequence[Contribution], center: Floats) -> Floats:
    """Return `(r,)` the L2 norm of each update minus `center` `(p,)`."""
    squares = np.zeros(len(contributions))
    for columns in blocks(len(center)):
        for i, contribution in enumerate(contributions):
            apart = block_of(contribution, columns, "updates") - center[columns]
            squares[i] += (apart**2).sum()
    return np.sqrt(squares)
