"""REFL's staleness-aware aggregation: late updates count for less, above all where they agree.

Abdelmoniem et al., "REFL: Resource-Efficient Federated Learning", EuroSys 2023 (arXiv:2111.01108);
docs/algorithms.md, C.
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Weighting, sum_of, terms_of, weights_of
from simfl.core.types import Floats, Params


@aggregators.register("refl")
class Refl(Aggregator):
    """The mean of all updates that arrived, ``w = w + sum b_k update_k / sum b_k``.

    A fresh one has b = 1, times its share of the samples if it is weighted by them.  A stale one
    has ``(1 - beta) / (staleness + 1) + beta (1 - exp(-D / D_max))`` of that, where D is its
    squared distance from the mean of the fresh ones, the largest of which is D_max: what the fresh
    ones do not tell already is worth more.  Nobody fresh: ``(1 - beta) / (staleness + 1)``.

    Cost: O(r * p), memory O(p).
    """

    discounts_stale = True

    weighting: Weighting = Field("uniform", description="samples: by n_k; uniform: all equally")
    beta: float = Field(
        0.35, ge=0, le=1, description="weight of how far from the fresh ones; 0: staleness alone"
    )

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        weights = weights_of(contributions, self.weighting) * self._shares(contributions)
        if not weights.any():
            return model
        of = terms_of(contributions)
        mean = sum_of(contributions, weights / weights.sum(), of)
        return (model + mean if of == "updates" else mean).astype(np.float32)

    def _shares(self, contributions: Sequence[Contribution]) -> Floats:
        """Return `(r,)` the shares of their weights that they keep, 1 if they are fresh."""
        staleness = np.array([c.staleness for c in contributions], dtype=np.float64)
        shares = np.where(staleness > 0, (1 - self.beta) / (staleness + 1), 1.0)
        fresh = [c for c in contributions if not c.staleness]
        stale = [c for c in contributions if c.staleness]
        if fresh and stale:
            mean = sum_of(fresh, weights_of(fresh, self.weighting), "updates")
            far = np.array([np.square(c.update - mean).sum() for c in stale])
            apart = far / (far.max() or 1.0)
            shares[staleness > 0] += self.beta * (1 - np.exp(-apart))
        return shares
