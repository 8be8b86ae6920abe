"""Who holds which labels: counts, and how far they are from everybody's."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Floats, Ids


def label_counts(dealt: Sequence[Ids], labels: Ids, classes: int) -> NDArray[np.int64]:
    """Return how many samples of each class each client holds, `(clients, classes)`.

    Args:
        dealt: per client its rows.
        labels: `(n,)` class of each row.
        classes: number of classes.
    """
    owners = np.repeat(np.arange(len(dealt)), [len(rows) for rows in dealt])
    held = labels[np.concatenate(dealt)] if len(dealt) else labels[:0]
    cells = np.bincount(owners * classes + held, minlength=len(dealt) * classes)
    return cells.reshape(len(dealt), classes)


def gemd(groups: NDArray[np.int64], everybody: NDArray[np.int64]) -> Floats:
    """Return how far the labels of groups of clients are from everybody's, in [0, 2).

    The group earth mover's distance of FL-DP3S (equation 15; docs/algorithms.md, G.2): the L1
    distance of the label distributions.  NaN where a group has no samples.

    Args:
        groups: `(..., classes)` label counts of each group.
        everybody: `(classes,)` label counts of all.
    """
    sizes = groups.sum(axis=-1, keepdims=True)
    shares = np.divide(groups, sizes, out=np.full(groups.shape, np.nan), where=sizes > 0)
    distance: Floats = np.abs(shares - everybody / max(everybody.sum(), 1)).sum(axis=-1)
    return distance


def skew(counts: NDArray[np.int64]) -> Floats:
    """Return the GEMD of each client by itself, `(clients,)`.

    Args:
        counts: `(clients, classes)` label counts.
    """
    return gemd(counts, counts.sum(axis=0))
