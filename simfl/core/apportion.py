"""Whole numbers in proportion to weights."""

import math

import numpy as np

from simfl.core.types import Floats, Ids


def whole_share(share: float, count: int, *, up: bool = False) -> int:
    """Return so large a share of so many, rounded down or `up`.

    Shares as people write them come out as people reckon, whatever floats say, of large counts too.

    >>> whole_share(0.29, 100), int(0.29 * 100)
    (29, 28)
    """
    exact = share * count
    whole = round(exact)
    # What a difference such as 1 - 0.9, and the product, can be off by.
    if abs(exact - whole) <= max(5e-10, 4e-16 * max(share, 1.0) * count):
        return whole
    return math.ceil(exact) if up else math.floor(exact)


def apportion(total: int, weights: Ids | Floats) -> Ids:
    """Split `total` in proportion to `weights`; it sums exactly.

    Hamilton's method: everybody gets the quota rounded down, the largest remainders one more (ties:
    lowest index).  Whole weights are reckoned with exactly.

    Args:
        total: what is split, not negative.
        weights: `(n,)` not negative, some positive.

    >>> apportion(10, np.array([1.0, 1.0, 1.0])).tolist()
    [4, 3, 3]
    """
    scaled, everything = total * weights, weights.sum()
    whole: Ids = (scaled // everything).astype(np.int64)
    remainders = scaled - whole * everything
    whole[np.argsort(-remainders, kind="stable")[: total - int(whole.sum())]] += 1
    return whole


def apportion_seats(seats: int, sizes: Ids) -> Ids:
    """Split `seats` in proportion to `sizes`; no share exceeds its size, and few are empty.

    If there are enough seats, whoever got nothing takes one from whoever is furthest above its
    quota.

    Args:
        seats: 0 to the sum of `sizes`.
        sizes: `(c,)` positive.

    Returns:
        `(c,)` shares; at least one each if ``seats >= c``.

    >>> apportion_seats(10, np.array([60, 39, 1])).tolist()
    [6, 3, 1]
    """
    shares = apportion(seats, sizes)
    if seats >= len(sizes):
        total = int(sizes.sum())
        for poor in np.flatnonzero(shares == 0):
            excess = np.where(shares > 1, shares * total - seats * sizes, np.iinfo(np.int64).min)
            shares[np.argmax(excess)] -= 1
            shares[poor] = 1
    return shares
