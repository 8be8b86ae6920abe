"""q-FedAvg: fairness by the losses of clients, q-FFL (Li et al., 2020, arXiv:1905.10497, alg. 2).

It minimises the objective ``sum p_k F_k^(q + 1) / (q + 1)``, in which clients with large
losses count for more than their samples say (docs/algorithms.md, C).
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field, PositiveFloat, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.robust import distances
from simfl.components.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.components.local_training import LocalTraining
from simfl.core.types import Params

_LEAST = 1e-10
"""Loss that is added to each (the authors' code), for powers of none."""


@aggregators.register("qfedavg")
class QFedAvg(Aggregator):
    """``w = w + sum a_k F_k^q L update_k / sum a_k (q F_k^(q - 1) ||L update_k||^2 + L F_k^q)``.

    F_k is a participant's loss at the model that it received, which it measures before it trains
    (on samples that it keeps aside, if it does) and sends along: a forward pass and 4 bytes.  The
    larger q, the more alike clients are served, and the shorter the steps: a smaller L makes them
    longer.  `q: 0` is FedAvg.  `simfl evaluate` tells how alike.
    Cost: O(r * p), memory O(p).
    """

    wants = ("loss",)

    q: float = Field(1.0, ge=0, le=100, description="how much large losses count for (0: FedAvg)")
    lipschitz: PositiveFloat | None = Field(
        None, description="L; omitted: one over the round's learning rate, as in the paper"
    )
    weighting: Weighting = Field(
        "samples",
        description="a_k, samples: by n_k; uniform: all equally (the paper, which draws clients by "
        "their samples)",
    )

    _local: LocalTraining | None = PrivateAttr(None)

    @override
    def prepare(self, local: LocalTraining, clients: int, per_round: int) -> None:
        self._local = local

    @override
    def state_dict(self) -> dict[str, object]:
        """Nothing changes from round to round."""
        return {}

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        trained = [c for c in contributions if c.result.samples > 0 and c.result.steps > 0]
        if not trained:
            return model
        losses = np.array([_loss(c) for c in trained], dtype=np.float64) + _LEAST
        # Relative to the largest, which the quotient does not tell: no power is too large.
        shares = weights_of(trained, self.weighting) * (losses / losses.max()) ** self.q
        smooth, lengths = self._smoothness(trained), distances(trained, np.zeros(len(model)))
        below = shares * (self.q * smooth * lengths**2 / losses + 1)
        return (model + sum_of(trained, shares / below.sum(), "updates")).astype(np.float32)

    def _smoothness(self, trained: Sequence[Contribution]) -> float:
        """Return L."""
        if self.lipschitz is not None or self._local is None:
            return self.lipschitz or 1.0
        rate = self._local.rate(max(c.result.order.round for c in trained))
        return 1 / rate if rate > 0 else 0.0  # where nobody moves it is of no account


def _loss(contribution: Contribution) -> float:
    """Return a client's loss at its base: none is below zero."""
    result = contribution.result
    return max(float(result.extras.get("loss", result.loss)), 0.0)
