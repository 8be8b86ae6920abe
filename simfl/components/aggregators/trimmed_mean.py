"""Coordinate-wise trimmed mean (Yin et al., 2018, arXiv:1803.01498, definition 2)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.robust import by_coordinate
from simfl.core.apportion import whole_share
from simfl.core.types import Floats, Params
from simfl.core.units import Percent


@aggregators.register("trimmed_mean")
class TrimmedMean(Aggregator):
    """The mean of each coordinate without its largest and smallest values, all clients alike.

    ``floor(trim * r)`` values go at each end.  Where some models are stale they are those of the
    updates, and their mean is added to the present model.  Cost: O(r log r * p), memory O(p).
    """

    trim: Annotated[Percent, Field(lt=0.5)] = Field(
        0.1, description="share of the values cut off at each end"
    )

    @override
    def withstands(self, clients: int | None) -> tuple[str, float]:
        return "trim", self.trim

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        def statistic(values: Floats) -> Floats:
            most = (len(values) - 1) // 2  # to which what is a hair below half may be rounded
            cut = min(whole_share(self.trim, len(values)), most)
            kept = np.sort(values, axis=0)[cut : len(values) - cut]
            return np.asarray(kept.mean(axis=0))

        return by_coordinate(model, contributions, statistic)
