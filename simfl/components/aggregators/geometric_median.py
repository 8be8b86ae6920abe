"""RFA: the geometric median (Pillutla, Kakade & Harchaoui, 2022, arXiv:1912.13445, algorithm 2)."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.robust import distances
from simfl.components.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.core.types import Params


@aggregators.register("geometric_median")
class GeometricMedian(Aggregator):
    """``w = w + v``, v the point with the smallest ``sum a_k ||update_k - v||``, approximately.

    The smoothed Weiszfeld algorithm, from the weighted mean on: in each of `iterations`, v becomes
    the mean of the updates with weights ``a_k / max(smoothing, ||update_k - v||)``.  Withstands
    wrong clients of less than half of all weight; the further away they are, the more iterations
    it takes to leave them behind.  Cost: O(iterations * r * p), memory O(p).
    """

    weighting: Weighting = Field(
        "samples", description="a_k; samples: by n_k (the paper); uniform: all equally"
    )
    iterations: int = Field(4, ge=1, description="steps from the mean (the authors' code: 4)")
    smoothing: float = Field(
        1e-5, gt=0, description="shortest distance that counts (nu; the authors' code: 1e-5)"
    )

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        weights = weights_of(contributions, self.weighting)
        if not weights.any():
            return model
        center = sum_of(contributions, weights, "updates")
        for _ in range(self.iterations):
            near = weights / np.maximum(distances(contributions, center), self.smoothing)
            center = sum_of(contributions, near / near.sum(), "updates")
        return (model + center).astype(np.float32)
