"""Vectors that clients sent in: keeping them, and comparing them pair by pair."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Flags, Floats, Ids

Vectors = NDArray[Any]
"""`(n, p)` float32."""
Metric = Literal["L2", "squared_L2", "L1", "arccos"]

_BLOCK = 1 << 15
"""Numbers of each vector that are multiplied in float64 at a time."""


def stored(known: Vectors | None, n: int, clients: Ids, values: NDArray[np.floating]) -> Vectors:
    """Return a copy of `known` `(n, d)` with the rows of `clients` replaced; unknown rows are NaN.

    Rows with a value that is not finite are not stored; clients beyond those known are new.
    """
    if values.ndim < 2:  # answers without content, where nothing is computed
        values = np.full((len(clients), 0 if known is None else known.shape[1]), np.nan)
    table = np.full((n, values.shape[1]), np.nan, dtype=np.float32)
    if known is not None and known.shape[1]:
        table[: len(known)] = known
    finite = np.isfinite(values).all(axis=1)
    table[clients[finite]] = values[finite]
    return table


def present(vectors: Vectors | None, n: int) -> Flags:
    """Return `(n,)` whose vector is known."""
    known = np.zeros(n, dtype=bool)
    if vectors is not None and vectors.shape[1]:
        known[: len(vectors)] = np.isfinite(vectors[:, 0])
    return known


def distances(rows: Vectors, to: Vectors, metric: Metric) -> Floats:
    """Return `(r, n)` distances of each of `rows` `(r, p)` to each of `to` `(n, p)`.  O(r n p).

    `arccos` is the angle between two vectors, 0 if one of them is the zero vector (Fraboni et al.,
    2021, appendix); the others are what they are called.
    """
    from scipy.spatial.distance import cdist

    if metric == "L2":
        return cdist(rows, to, "euclidean")
    if metric == "squared_L2":
        return cdist(rows, to, "sqeuclidean")
    if metric == "L1":
        return cdist(rows, to, "cityblock")
    length = np.outer(_norms(rows), _norms(to))
    cosine = np.divide(_products(rows, to), length, out=np.ones_like(length), where=length > 0)
    angle: Floats = np.arccos(np.clip(cosine, -1.0, 1.0))
    return angle


def row_distances(between: Floats, sizes: Ids) -> Floats:
    """Return `(g, g)` how far the rows of a large matrix of distances are apart.

    Args:
        between: `(g, g)` distances of groups, whose members are all alike.
        sizes: `(g,)` rows, and columns, of each group in the large matrix.
    """
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(between, w=sizes.astype(np.float64))))


def _norms(vectors: Vectors) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return np.sqrt(squares)


def _products(rows: Vectors, to: Vectors) -> Floats:
    """Return `(rows, to)` inner products in float64 without a float64 copy of everything."""
    total = np.zeros((len(rows), len(to)))
    for start in range(0, rows.shape[1], _BLOCK):
        part = slice(start, start + _BLOCK)
        total += rows[:, part].astype(np.float64) @ to[:, part].astype(np.float64).T
    return total
