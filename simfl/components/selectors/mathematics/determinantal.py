"""Exact sampling from a k-DPP, stable for thousands of items.

Kulesza & Taskar, "k-DPPs: Fixed-Size Determinantal Point Processes", ICML 2011, Algorithms 1 and 2;
docs/algorithms.md, A.7.
"""

import math

import numpy as np

from simfl.core.types import Floats, Ids, Rng

RANK_TOLERANCE = float(np.finfo(np.float64).eps)
"""Eigenvalues below the largest times the size times this count as zero."""
JITTER = 1e-9
"""What a kernel of too low a rank gets on its diagonal, relative to its largest eigenvalue."""


class KDpp:
    """Chooses k-subsets Y of n items with probability in proportion to ``det(L_Y)``.

    Cost: O(n^3) once; O(n k) for each new k; then O(n k^2) per sample.

    Args:
        L: `(n, n)` symmetric positive semi-definite kernel; its scale does not matter.
    """

    def __init__(self, L: Floats) -> None:
        eigenvalues, self._vectors = np.linalg.eigh(L)
        largest = max(float(eigenvalues[-1]), np.finfo(np.float64).tiny)
        self._eigenvalues = np.clip(eigenvalues / largest, 0.0, None)
        self.rank = int(np.sum(self._eigenvalues > len(L) * RANK_TOLERANCE))
        self._tables: dict[int, tuple[Floats, Floats]] = {}

    def sample(self, k: int, rng: Rng) -> Ids:
        """Return `(k,)` distinct positions, ascending; k at most n."""
        if k not in self._tables:
            jitter = JITTER if self.rank < k else 0.0
            self._tables[k] = elementary_polynomials(self._eigenvalues + jitter, k)
        return sample_projection(
            self._vectors[:, choose_eigenvectors(*self._tables[k], k, rng)], rng
        )


def elementary_polynomials(values: Floats, k: int) -> tuple[Floats, Floats]:
    """Return log eigenvalues `(n,)` and log elementary symmetric polynomials `(n + 1, k + 1)`.

    ``E[n, l]`` is the sum over all l-subsets of the first n eigenvalues of their products.  All
    terms are non-negative, so nothing cancels and logarithms neither overflow nor underflow.
    """
    with np.errstate(divide="ignore"):
        log_values = np.log(values)
    log_E = np.full((len(values) + 1, k + 1), -np.inf)
    log_E[:, 0] = 0.0
    for n, log_value in enumerate(log_values):
        log_E[n + 1, 1:] = np.logaddexp(log_E[n, 1:], log_value + log_E[n, :-1])
    return log_values, log_E


def choose_eigenvectors(log_values: Floats, log_E: Floats, k: int, rng: Rng) -> list[int]:
    """Return `k` eigenvectors, a set as likely as the product of their eigenvalues.

    Args:
        log_values: `(n,)` as `elementary_polynomials` returns them.
        log_E: `(n + 1, k + 1)` likewise.
        k: how many.
        rng: draws.
    """
    taken: list[int] = []
    for n in range(len(log_values), 0, -1):
        left = k - len(taken)
        if left == 0:
            break
        log_p = log_values[n - 1] + log_E[n - 1, left - 1] - log_E[n, left]
        if n == left or math.log(rng.random() or math.ulp(0.0)) < log_p:
            taken.append(n - 1)
    return taken


def sample_projection(V: Floats, rng: Rng) -> Ids:
    """Return k positions, ascending: the DPP whose kernel projects onto the span of `V`.

    Args:
        V: `(n, k)` orthonormal columns.
        rng: draws.
    """
    k = V.shape[1]
    left = np.einsum("ij,ij->i", V, V)  # squared lengths of the rows outside what is chosen
    columns, chosen = np.zeros((len(V), k)), np.zeros(k, dtype=np.int64)
    for t in range(k):
        mass = np.cumsum(left)
        i = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
        if i == len(left):  # the number was rounded up to the total
            i = int(np.flatnonzero(left)[-1])
        column = (V @ V[i] - columns[:, :t] @ columns[i, :t]) / math.sqrt(left[i])
        columns[:, t], chosen[t] = column, i
        left = np.clip(left - column**2, 0.0, None)
        left[chosen[: t + 1]] = 0.0
    return np.sort(chosen)


def similarity(distance: Floats) -> Floats:
    """Return FL-DP3S's S, which falls from 1 to 0 in the distances (Eq. 14); L is ``S^T S``.

    Args:
        distance: `(n, n)` distances between profiles; overwritten.

    Returns:
        `(n, n)`; the identity, under which all k-subsets are equally likely, if all profiles are
        equal.
    """
    low, high = float(distance.min(initial=0.0)), float(distance.max(initial=0.0))
    if high <= low:
        return np.eye(len(distance))
    if low:
        distance -= low
    distance /= high - low
    return np.subtract(1.0, distance, out=distance)
