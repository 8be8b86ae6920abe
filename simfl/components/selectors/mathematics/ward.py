"""Ward's clusters of points many of which are alike, such as clients that never sent an update.

SciPy's `linkage` knows no weights: of ten thousand clients, a hundred of them known, it compares
fifty million pairs.  This is its method, the nearest-neighbour chain (Murtagh, "A survey of recent
advances in hierarchical clustering algorithms", 1983), and its order where distances tie.
"""

import numpy as np

from simfl.core.types import Floats, Ids

Merges = list[tuple[int, int]]
"""Two clusters at a time, from the leaves up: n points are 0 to n - 1, merge i makes n + i."""


def ward(between: Floats, members: Ids) -> Merges:
    """Return the n - 1 merges of Ward's linkage of n points in g groups of points that are alike.

    O(n + g^2); a table of g^2 numbers.

    Args:
        between: `(g, g)` distances of the groups' points, zero on the diagonal; overwritten.
        members: `(n,)` the group of each point; each has some.
    """
    merges: Merges = []
    sizes, tops = np.bincount(members), []
    for points in np.split(np.argsort(members, kind="stable"), np.cumsum(sizes)[:-1]):
        top, *others = points.tolist()
        for point in others:  # at distance zero, so before all else
            merges.append((top, point))
            top = len(members) + len(merges) - 1
        tops.append(top)
    for low, high in _merged(between, sizes.astype(np.float64)):
        merges.append((tops[low], tops[high]))
        tops[high] = len(members) + len(merges) - 1
    return merges


def _merged(apart: Floats, sizes: Floats) -> Merges:
    """Return the pairs of clusters merged; the first of a pair is in the second from then on.

    Args:
        apart: `(g, g)` distances of the clusters' points; overwritten.
        sizes: `(g,)` points of each.
    """
    for row, size in zip(apart, sizes, strict=True):  # squares of Ward's distances
        np.square(row, out=row)
        row *= 2 * size * sizes / (size + sizes)
    np.fill_diagonal(apart, np.inf)
    pairs: Merges = []
    chain: list[int] = []
    first = 0
    while len(pairs) < len(sizes) - 1:
        if not chain:
            while not sizes[first]:
                first += 1
            chain.append(first)
        last = chain[-1]
        nearest = int(apart[last].argmin())
        if len(chain) < 2 or apart[last, nearest] < apart[last, chain[-2]]:
            chain.append(nearest)
            continue
        low, high = sorted((chain.pop(), chain.pop()))
        pairs.append((low, high))
        a, b = sizes[low], sizes[high]
        # Lance and Williams; the clusters that are gone have no size, and are infinitely far away.
        apart[high] *= b + sizes
        apart[high] += (a + sizes) * apart[low]
        apart[high] -= sizes * apart[low, high]
        apart[high] /= a + b + sizes
        apart[high, [low, high]] = np.inf
        apart[:, high] = apart[high]
        apart[:, low] = np.inf
        sizes[low], sizes[high] = 0.0, a + b
    return pairs
