"""Federated averaging (McMahan et al., 2017, arXiv:1602.05629, algorithm 1)."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Weighting, shares, sum_of, terms_of, weights_of
from simfl.core.types import Floats, Params


@aggregators.register("fedavg")
class FedAvg(Aggregator):
    """The weighted mean of the models that arrived, ``sum a_k w_k / sum a_k``.

    A client drawn twice counts twice.  Nobody with a sample: the model stays.  Where some of them
    are stale it is ``w + sum a_k (w_k - base_k) / sum a_k``, the same for those that are not: the
    mean of stale models would undo what was learned since.  With a server learning rate it is
    `fedavgm` without momentum.
    Cost: O(r * p), memory O(p).
    """

    weighting: Weighting = Field(
        "samples", description="samples: by training samples (n_k); uniform: all equally (1/K)"
    )

    @override
    def weigh(self, samples: Sequence[int], copies: Sequence[int]) -> Floats | None:
        if type(self) is not FedAvg:  # who builds on it may do more
            return None
        return shares(samples, copies, self.weighting)

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        weights = weights_of(contributions, self.weighting)
        if not weights.any():
            return model
        of = terms_of(contributions)
        mean = sum_of(contributions, weights, of)
        return (model + mean if of == "updates" else mean).astype(np.float32)
