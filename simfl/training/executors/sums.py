"""Sums of models, which are much smaller than the models: what an executor can be asked for."""

from dataclasses import dataclass

import numpy as np

from simfl.core.types import Floats
from simfl.core.work import WorkResult

ROOM_BYTES = 256 * 2**20
"""Models that are kept until they are added up; of more, one part after the other is trained."""

NO_MODEL = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Sum:
    """What came of orders.

    Attributes:
        total: `(p,)` the weighted sum of their models, float64 (None: all weights are zero, or some
            result is not sound).
        results: of all of them, without their models.
        discarded: keys of those that are not sound.
    """

    total: Floats | None
    results: list[WorkResult]
    discarded: list[tuple[int, int]]


def is_sound(result: WorkResult) -> bool:
    """Whether the update and the loss are finite numbers still (docs/algorithms.md, 0.1)."""
    diverged = result.steps > 0 and not np.isfinite(result.loss)
    return bool(np.isfinite(result.params).all()) and not diverged
