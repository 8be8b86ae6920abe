"""Exact sampling from a k-DPP over tens of thousands of items, without decomposing its kernel.

A k-DPP over a few items that were drawn independently, more often where they matter, is one over
all of them if such a draw is kept as often as its determinants ask for.  What is known of the
kernel, roughly its leading eigenvectors, decides how often that is, not what is drawn.

Dereziński, Calandriello & Valko, "Exact Sampling of Determinantal Point Processes with Sublinear
Time Preprocessing", NeurIPS 2019, Algorithm 1; Calandriello, Dereziński & Valko, "Sampling from a
k-DPP without looking at all items", NeurIPS 2020.
"""

import math

import numpy as np

from simfl.components.selectors._determinantal import (
    choose_eigenvectors,
    elementary_polynomials,
    sample_projection,
)
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids, Rng

RANK = 160
"""Directions in which a kernel is known."""
_ROUNDING = 1e-12
"""How much more likely an item is taken to be than it was computed; more may be, less may not."""


class Sketch:
    """What is known of a kernel L = S'S.  O(n^2 r).

    Args:
        S: `(n, n)` symmetric.
        rank: r, at most n.

    Attributes:
        S: as given.
        diagonal: `(n,)` of L.
        applied: `(n, r)` S times orthonormal vectors that are near its leading eigenvectors.
    """

    def __init__(self, S: Floats, rank: int = RANK) -> None:
        self.S = S
        self.diagonal: Floats = np.einsum("ij,ij->i", S, S)
        # What some clients have in common with all spans about what leads (Nyström's method).
        some = np.sort(Seeds(0).stream("landmarks").permutation(len(S))[:rank])
        basis, _ = np.linalg.qr(S[:, some])
        self.applied: Floats = S @ basis


class IntermediateKDpp:
    """Chooses k-subsets Y of some items with probability in proportion to ``det(L_Y)``, L = S'S.

    Cost: O(a r^2) once; O(n k^4) a try, a few dozen tries for a sample.

    Args:
        sketch: of L.
        ids: `(a,)` the items.
        k: how many are chosen.
    """

    def __init__(self, sketch: Sketch, ids: Ids, k: int) -> None:
        self._S, self._ids, self._k = sketch.S, ids, k
        diagonal, known = sketch.diagonal[ids], sketch.applied[ids]
        values, turned = np.linalg.eigh(known.T @ known)
        values = np.clip(values, 0.0, None)
        rest = max(float(diagonal.sum() - values.sum()), 0.0)
        self._scale = scale = _scale(values, rest, k)
        inside = scale * values / (1 + scale * values)
        part = np.square(known @ turned) @ inside
        # How likely each item is to be chosen, about; and what that comes to.
        weights = scale * (np.clip(diagonal - part, 0.0, None) + _ROUNDING * diagonal)
        self._total = total = float(weights.sum())
        self._weights, self._cumulated = weights, np.cumsum(weights)
        self.points = max(total**2 / 3, 1.0)
        """How many items a try looks at, about; beyond all bounds where no k differ."""
        self._log_kept = float(inside.sum()) - float(np.log1p(scale * values).sum())

    def sample(self, rng: Rng, tries: int) -> Ids | None:
        """Return `k` distinct items, ascending; None: so many tries were in vain."""
        for _ in range(tries):
            chosen = self._try(rng)
            if chosen is not None:
                return np.sort(self._ids[chosen])
        return None

    def _try(self, rng: Rng) -> Ids | None:
        """Return k distinct positions, or None."""
        many = int(rng.poisson(self.points * math.exp(self._total / self.points)))
        drawn = rng.random(many) * self._cumulated[-1]
        log_u = math.log(rng.random() or math.ulp(0.0))
        if many < self._k:
            return None
        points = np.searchsorted(self._cumulated, drawn, side="right")
        points = np.minimum(points, len(self._ids) - 1)
        rows = self._S[self._ids[points]]
        share = np.sqrt(self.points * self._weights[points] / self._total)
        kernel = self._scale * (rows @ rows.T) / np.outer(share, share)
        # det(I + kernel) is never above exp(-allowed); of these sets, those of k items count.
        allowed = self._log_kept - many * self._total / self.points
        if np.linalg.slogdet(np.eye(many) + kernel).logabsdet + allowed < log_u:
            return None
        values, vectors = np.linalg.eigh(kernel)
        log_values, log_E = elementary_polynomials(np.clip(values, 0.0, None), self._k)
        if log_E[-1, -1] + allowed < log_u:
            return None
        subspace = vectors[:, choose_eigenvectors(log_values, log_E, self._k, rng)]
        found: Ids = points[sample_projection(subspace, rng)]
        return found


def _scale(values: Floats, rest: float, k: int) -> float:
    """Return the factor on L at which a DPP of any size has k - 1/2 items on the average.

    Args:
        values: `(r,)` leading eigenvalues.
        rest: the sum of all others.
        k: which is about as likely then as any number; and there is such a factor up to rank k.
    """

    def size(log_scale: float) -> float:
        scale = math.exp(log_scale)
        return float((scale * values / (1 + scale * values)).sum()) + scale * rest

    low, high = -100.0, 100.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if size(middle) < k - 0.5 else (low, middle)
    return math.exp(low)
