"""FedBuff: buffered asynchronous aggregation (Nguyen et al., 2022, arXiv:2106.06639, alg. 1)."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.core.types import Params


@aggregators.register("fedbuff")
class FedBuff(Aggregator):
    """``w = w + lr * mean(update_k / (1 + staleness_k)^exponent)`` over a full buffer.

    The mean is over the number of updates, not over their discounts: a stale buffer moves the model
    less.  Cost: O(r * p), memory O(p).
    """

    discounts_stale = True

    weighting: Weighting = Field("uniform", description="samples: by n_k; uniform: all equally")
    lr: float = Field(1.0, gt=0, description="server learning rate (eta_g)")
    exponent: float = Field(0.5, ge=0, description="of the staleness discount; 0: none")

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        staleness = np.array([c.staleness for c in contributions], dtype=np.float64)
        discounted = weights_of(contributions, self.weighting) * (1 + staleness) ** -self.exponent
        step = sum_of(contributions, discounted, "updates")
        return (model + self.lr * step).astype(np.float32)
