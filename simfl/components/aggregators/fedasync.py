"""FedAsync: mix each arriving model in (Xie, Koyejo & Gupta, 2019, arXiv:1903.03934, alg. 1)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.core.types import Params


@aggregators.register("fedasync")
class FedAsync(Aggregator):
    """``w = (1 - a) w + a w_k`` with ``a = alpha * s(staleness)``, one client after the other.

    In the order of their arrival, where several come to one aggregation.  The model of a client
    that was drawn twice, by a selector that draws with replacement, is mixed in twice.

    Cost: O(r * p), memory O(p).
    """

    discounts_stale = True

    alpha: float = Field(0.6, gt=0, le=1, description="weight of a fresh model")
    staleness: Literal["constant", "polynomial", "hinge"] = Field(
        "polynomial",
        description="s(d): constant: 1; polynomial: (1 + d)^-a; hinge: 1 up to b, then "
        "1 / (a (d - b) + 1) (section 5.2)",
    )
    a: float | None = Field(None, gt=0, description="slope; 0.5 in polynomial, 10 in hinge")
    b: float = Field(4.0, ge=0, description="staleness up to which hinge does not discount")

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        mixed = model.astype(np.float64)
        for contribution in sorted(contributions, key=lambda sent: sent.arrived_s):
            for _ in range(contribution.copies):
                share = self.alpha * self.discount(contribution.staleness)
                mixed += share * (contribution.result.params - mixed)
        return mixed.astype(np.float32)

    def discount(self, staleness: int) -> float:
        """Return s(staleness), 1 for a fresh model."""
        if self.staleness == "constant":
            return 1.0
        if self.staleness == "polynomial":
            return float((1 + staleness) ** -(0.5 if self.a is None else self.a))
        slope = 10.0 if self.a is None else self.a
        return 1.0 if staleness <= self.b else 1 / (slope * (staleness - self.b) + 1)
