"""Largest-remainder apportionment of a coreset's budget to classes."""

import numpy as np

from simfl.core.types import Ids


def apportion(budget: int, sizes: Ids) -> Ids:
    """Split `budget` in proportion to `sizes`; it sums exactly, and no share exceeds its size.

    Hamilton's method: everybody gets the quota rounded down, the largest remainders one more (ties:
    lowest index).  If the budget allows, whoever got nothing then takes one from whoever is
    furthest above its quota.

    Args:
        budget: seats, 0 <= budget <= sum of `sizes`.
        sizes: `(c,)` positive.

    Returns:
        `(c,)` seats; at least one each if ``budget >= c``.

    >>> apportion(10, np.array([60, 39, 1])).tolist()
    [6, 3, 1]
    """
    total = int(sizes.sum())
    seats = budget * sizes // total  # integers, so that no quota is rounded
    remainders = budget * sizes - seats * total
    seats[np.argsort(-remainders, kind="stable")[: budget - int(seats.sum())]] += 1
    if budget >= len(sizes):
        for poor in np.flatnonzero(seats == 0):
            excess = np.where(seats > 1, seats * total - budget * sizes, np.iinfo(np.int64).min)
            seats[np.argmax(excess)] -= 1
            seats[poor] = 1
    return seats
