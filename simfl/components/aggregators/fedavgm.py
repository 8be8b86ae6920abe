"""FedAvg with server momentum (Hsu, Qi & Brown, 2019, arXiv:1909.06335, section 4.3)."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.core.types import Floats, Params


@aggregators.register("fedavgm")
class FedAvgM(Aggregator):
    """``v = momentum * v + delta; w = w + lr * v``, delta the weighted mean update.

    With ``momentum: 0, lr: 1`` it is FedAvg.  Cost: O(r * p), memory O(p).
    """

    weighting: Weighting = Field("samples", description="samples: by n_k; uniform: all equally")
    lr: float = Field(1.0, gt=0, description="server learning rate")
    momentum: float = Field(0.9, ge=0, lt=1, description="share of the last step kept (beta)")

    _velocity: Floats | None = PrivateAttr(None)

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        delta = sum_of(contributions, weights_of(contributions, self.weighting), "updates")
        velocity = delta if self._velocity is None else self.momentum * self._velocity + delta
        self._velocity = velocity
        return (model + self.lr * velocity).astype(np.float32)
