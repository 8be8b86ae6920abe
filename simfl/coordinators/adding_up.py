"""Models added up as they come, so that those of a large cohort need not all be there at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simfl.components.aggregators.weighting import add
from simfl.coordinators.ledger import Execute
from simfl.core.types import Floats
from simfl.core.work import WorkOrder, WorkResult

ROOM_BYTES = 256 * 2**20
"""Models that are kept until they are averaged; of more, one part after the other is trained."""

_NOTHING = np.zeros(0, dtype=np.float32)

Key = tuple[int, int]


@dataclass(frozen=True)
class Sum:
    """What came of orders.

    Attributes:
        total: `(p,)` the weighted sum of their models, float64 (None: all weights are zero).
        results: those that count, without their models.
        discarded: keys of those that are not sound.
    """

    total: Floats | None
    results: list[WorkResult]
    discarded: list[Key]


def added_up(
    execute: Execute,
    orders: Sequence[WorkOrder],
    weigh: Callable[[Sequence[WorkOrder]], Floats],
    at_once: int,
) -> Sum:
    """Train `orders` and add their models up, to the bits of a sum over all of them at once.

    Args:
        execute: trains.
        orders: in canonical order.
        weigh: (orders) -> `(r,)` what each model is multiplied by.
        at_once: how many models may be there at the same time.
    """
    added = _added_up(execute, orders, weigh(orders), at_once)
    if not added.discarded:
        return added
    # The weights of all others hang on it: they are trained once more, and are sound again.
    sound = [order for order in orders if order.key not in added.discarded]
    again = _added_up(execute, sound, weigh(sound), at_once) if sound else Sum(None, [], [])
    return Sum(again.total, again.results, added.discarded)


def _added_up(execute: Execute, orders: Sequence[WorkOrder], weights: Floats, at_once: int) -> Sum:
    total: Floats | None = None
    results, discarded = list[WorkResult](), list[Key]()
    for first in range(0, len(orders), at_once):
        part = slice(first, first + at_once)
        for result, weight in zip(execute(orders[part]), weights[part], strict=True):
            if not is_sound(result):
                discarded.append(result.order.key)
            elif weights.any():
                total = np.zeros(len(result.params)) if total is None else total
                add(total, weight, result.params)
            results.append(replace(result, params=_NOTHING))
    return Sum(total, results, discarded)


def is_sound(result: WorkResult) -> bool:
    """Whether the update and the loss are finite numbers still (docs/algorithms.md, 0.1)."""
    diverged = result.steps > 0 and not np.isfinite(result.loss)
    return bool(np.isfinite(result.params).all()) and not diverged
