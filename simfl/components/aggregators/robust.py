"""What robust aggregators share: a statistic of each coordinate over all models."""

from collections.abc import Callable, Sequence

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.weighting import block_of, blocks
from simfl.core.types import Floats, Params


def by_coordinate(
    contributions: Sequence[Contribution], statistic: Callable[[Floats], Floats]
) -> Params:
    """Return `(p,)` the statistic of each coordinate.

    Args:
        contributions: the models; one drawn twice counts twice.
        statistic: `(r, columns)` values -> `(columns,)`.
    """
    models = [c for c in contributions for _ in range(c.copies)]
    result = np.empty(len(models[0].result.params), dtype=np.float32)
    for columns in blocks(len(result), rows=len(models)):
        result[columns] = statistic(np.stack([block_of(c, columns) for c in models]))
    return result
