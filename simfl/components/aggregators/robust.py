"""What robust aggregators share: a statistic of each coordinate over all models."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.weighting import block_of, blocks
from simfl.core.types import Floats, Params


def by_coordinate(
    model: Params, contributions: Sequence[Contribution], statistic: Callable[[Floats], Floats]
) -> Params:
    """Return `(p,)` the statistic of each coordinate.

    Args:
        model: `(p,)` the present one.
        contributions: the models; one drawn twice counts twice.  Where some are stale it is the
            statistic of the updates, added to `model`: stale models undo what was learned since.
        statistic: `(r, columns)` values -> `(columns,)`.
    """
    models = [c for c in contributions for _ in range(c.copies)]
    stale = any(c.staleness for c in contributions)
    result = np.empty(len(model), dtype=np.float32)
    for columns in blocks(len(result), rows=len(models)):
        of: Literal["models", "updates"] = "updates" if stale else "models"
        value = statistic(np.stack([block_of(c, columns, of) for c in models]))
        result[columns] = model[columns] + value if stale else value
    return result
