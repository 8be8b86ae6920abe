"""Coordinate-wise median (Yin et al., 2018, arXiv:1803.01498, definition 1)."""

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.robust import by_coordinate
from simfl.core.types import Params


@aggregators.register("median")
class Median(Aggregator):
    """The middle value of each coordinate (the mean of the middle two), all clients alike.

    Withstands less than half of the clients being wrong.  Where some models are stale it is
    ``w + median(w_k - base_k)``, as FedAvg's mean.  Cost: O(r * p), memory O(p).
    """

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        return by_coordinate(model, contributions, lambda values: np.median(values, axis=0))
