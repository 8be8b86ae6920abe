"""Weighted draws that several selectors share."""

import numpy as np

from simfl.core.types import Floats, Ids, Rng


def successive(log_weights: Floats, k: int, rng: Rng) -> Ids:
    """Draw up to `k` distinct positions one after the other, each in proportion to its weight.

    Successive sampling by the Gumbel-max trick (Yellott, 1977): exact, O(n + k log k), safe for any
    scale of weights.  Positions of weight zero (``-inf``) come only after all others, in random
    order.

    Args:
        log_weights: `(n,)` logarithms of the weights, up to a constant.
        k: how many.
        rng: where the randomness comes from.

    Returns:
        `(min(k, n),)` positions in the order in which they were drawn.
    """
    keys = -(log_weights + rng.gumbel(size=len(log_weights)))
    ties = rng.random(len(keys))
    first = among_least(keys, k)
    order: Ids = first[np.lexsort((ties[first], keys[first]))[:k]]
    return order.astype(np.int64)


def among_least(values: Floats, k: int) -> Ids:
    """Return `(m,)` positions, ascending, that the `k` least of `(n,)` values must be among.

    O(n): only these need be put in order.  All that equal the k-th are there.
    """
    if not 0 < k < len(values):
        return np.arange(len(values))
    return np.flatnonzero(~(values > np.partition(values, k - 1)[k - 1]))


def log_shares(samples: Ids) -> Floats:
    """Return `(n,)` logarithms of numbers of samples, minus infinity for none."""
    with np.errstate(divide="ignore"):
        return np.log(samples.astype(np.float64))


def known_or_median(values: Floats) -> Floats:
    """Return `(n,)` values with each that is not finite replaced by the median of the others.

    Nothing known: zeros, so that nobody is preferred.
    """
    known = np.isfinite(values)
    return np.where(known, values, np.median(values[known]) if known.any() else 0.0)


def spread(values: Floats, clients: Ids, n: int) -> Floats:
    """Return `(n,)` or `(n, d)`: `values` at the rows of `clients`, NaN elsewhere."""
    full = np.full((n, *values.shape[1:]), np.nan)
    full[clients] = values
    return full


def grown(values: Floats | None, n: int, new: float = np.nan) -> Floats:
    """Return `(max(m, n),)` what is known of clients, and of those not there when it was noted.

    Args:
        values: `(m,)` of the first clients (None: of nobody).
        n: how many there are now.
        new: what stands for the others.
    """
    known = np.zeros(0) if values is None else values
    return np.append(known, np.full(max(n - len(known), 0), new))
