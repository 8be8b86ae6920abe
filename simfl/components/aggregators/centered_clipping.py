"""Centred clipping (Karimireddy, He & Jaggi, ICML 2021, arXiv:2012.10333, algorithm 2)."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.robust import distances
from simfl.components.aggregators.weighting import sum_of
from simfl.core.types import Floats, Params


@aggregators.register("centered_clipping")
class CenteredClipping(Aggregator):
    """``v = v + mean((update_k - v) * min(1, clip / ||update_k - v||)); w = w + v``.

    v is what the round before came to, 0 at first; the first line is repeated `iterations` times.
    One wrong client of r so moves v by ``clip / r`` at most.  All clients are alike, and one drawn
    twice counts twice.  The paper's workers send momenta; here they send what training came to.
    Cost: O(iterations * r * p), memory O(p).
    """

    clip: float = Field(
        gt=0, description="farthest that an update may be from v (tau)", examples=[1.0]
    )
    iterations: int = Field(1, ge=1, description="of clipping, in a round (the paper: 1)")

    _center: Floats | None = PrivateAttr(None)

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        copies = np.array([c.copies for c in contributions], dtype=np.float64)
        center: Floats = np.zeros(len(model)) if self._center is None else self._center
        for _ in range(self.iterations):
            apart = distances(contributions, center)
            shares: Floats = copies / copies.sum() * self.clip / np.maximum(apart, self.clip)
            center = (1 - shares.sum()) * center + sum_of(contributions, shares, "updates")
        self._center = center
        return (model + center).astype(np.float32)
