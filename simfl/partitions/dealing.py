"""Arithmetic that several partitions share."""

import numpy as np
from numpy.typing import NDArray

from simfl.work import Ids


def by_owner(
    rows: Ids, owners: Ids, clients: int, rng: np.random.Generator | None = None
) -> list[Ids]:
    """Return per client the rows it owns, in random order (in the order given without `rng`).

    Args:
        rows: `(n,)` rows of the data set.
        owners: `(n,)` the client of each.
        clients: number of clients; those that own nothing get an empty array.
        rng: shuffles inside the clients, so that any cut of their rows is a fair one.
    """
    if rng is not None:
        order = rng.permutation(len(rows))
        rows, owners = rows[order], owners[order]
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=clients))[:-1]
    return np.split(rows[order], ends)


def apportion(total: int, weights: NDArray[np.float64]) -> Ids:
    """Split `total` into whole numbers in proportion to `weights` (largest remainders).

    Of equal remainders the first wins.

    >>> apportion(10, np.array([1.0, 1.0, 1.0])).tolist()
    [4, 3, 3]
    """
    exact = total * weights / weights.sum()
    whole: Ids = np.floor(exact).astype(np.int64)
    short = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:short]] += 1
    return whole


def rows_of_classes(labels: Ids, classes: int) -> list[Ids]:
    """Return per class its rows, ascending."""
    return by_owner(np.arange(len(labels)), labels, classes)
