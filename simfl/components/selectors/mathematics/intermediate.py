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

from simfl.components.selectors.mathematics.determinantal import (
    choose_eigenvectors,
    elementary_polynomials,
    sample_projection,
)
from simfl.components.selectors.mathematics.sketch import Sketch
from simfl.core.types import Floats, Ids, Rng

_ROUNDING = 2e-6
"""What may be wrong with the diagonal of a kernel less what is known of it, as a share of the
diagonal: all pairs are looked at in single precision.  An item may be taken to be more likely than
it is, not less."""


class IntermediateKDpp:
    """Chooses k-subsets Y of some items with probability in proportion to ``det(L_Y)``, L = S'S.

    Cost: O(a r^2) once; O(n k^4) a try, a few dozen tries for a sample.

    Args:
        sketch: of L.
        ids: `(a,)` the items.
        k: how many are chosen.

    Attributes:
        scale: factor on L, so that about k are chosen where any number may be.
    """

    def __init__(self, sketch: Sketch, ids: Ids, k: int) -> None:
        self._sketch, self._ids, self._k = sketch, ids, k
        diagonal, self._known = sketch.diagonal[ids], (known := sketch.applied[ids])
        values, turned = np.linalg.eigh(known.T @ known)
        values = np.clip(values, 0.0, None)
        rest = max(float(diagonal.sum() - values.sum()), 0.0)
        self.scale = scale = _scale(values, rest, k)
        inside = scale * values / (1 + scale * values)
        part = np.square(known @ turned) @ inside
        # How likely each item is to be chosen, about; and what that comes to.
        weights = scale * (np.clip(diagonal - part, 0.0, None) + _ROUNDING * diagonal)
        self._total = total = float(weights.sum())
        self._weights, self._cumulated = weights, np.cumsum(weights)
        self.points = max(total**2 / 3, 1.0)
        """How many items a try looks at, about; beyond all bounds where no k differ."""
        self._log_kept = float(inside.sum()) - float(np.log1p(scale * values).sum())
        beyond = np.clip(diagonal - np.square(known).sum(axis=1), 0.0, None)
        self._beyond: Floats = beyond + _ROUNDING * diagonal

    def sample(self, rng: Rng, tries: int) -> Ids | None:
        """Return `(k,)` distinct items, ascending; None: so many tries were in vain."""
        for _ in range(tries):
            chosen = self._try(rng)
            if chosen is not None:
                return np.sort(self._ids[chosen])
        return None

    def _try(self, rng: Rng) -> Ids | None:
        """Return `(k,)` distinct positions, or None."""
        many = int(rng.poisson(self.points * math.exp(self._total / self.points)))
        drawn = rng.random(many) * self._cumulated[-1]
        log_u = math.log(rng.random() or math.ulp(0.0))
        if many < self._k:
            return None
        points = np.searchsorted(self._cumulated, drawn, side="right")
        points = np.minimum(points, len(self._ids) - 1)
        # det(I + kernel) is never above exp(-allowed); of these sets, those of k items count.
        allowed = self._log_kept - many * self._total / self.points
        share = np.sqrt(self.points * self._weights[points] / self._total)
        if self.log_at_most(points, share) + allowed < log_u:
            return None
        rows = self._sketch.similarities(self._ids[points])
        kernel = self.scale * (rows @ rows.T) / np.outer(share, share)
        if np.linalg.slogdet(np.eye(many) + kernel).logabsdet + allowed < log_u:
            return None
        values, vectors = np.linalg.eigh(kernel)
        log_values, log_E = elementary_polynomials(np.clip(values, 0.0, None), self._k)
        if log_E[-1, -1] + allowed < log_u:
            return None
        subspace = vectors[:, choose_eigenvectors(log_values, log_E, self._k, rng)]
        found: Ids = points[sample_projection(subspace, rng)]
        return found

    def log_at_most(self, points: Ids, share: Floats) -> float:
        """Return what log det(I + kernel) of some points is not above; it looks at no row of S.

        Fischer's inequality parts what is known from what is beyond it, Hadamard's what is beyond.

        Args:
            points: `(m,)` positions of the items.
            share: `(m,)` by which the rows and columns of their kernel are divided.
        """
        known = self._known[points] / share[:, None]
        inside = np.eye(known.shape[1]) + self.scale * (known.T @ known)
        outside = np.log1p(self.scale * self._beyond[points] / share**2)
        return float(np.linalg.slogdet(inside).logabsdet + outside.sum())


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
