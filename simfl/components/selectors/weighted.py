"""Sampling in proportion to data: FedAvg's theory, FedProx and FedCore, Algorithm 1, line 3.

Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020; docs/algorithms.md, A.2.
"""

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.selectors.base import Answers, Selector, View, selectors
from simfl.components.selectors.mathematics.draws import log_shares, successive
from simfl.core.types import Ids, Rng


@selectors.register("weighted")
class Weighted(Selector):
    """Draws clients with probability ``p_k``, their share of all available samples.

    With replacement (the papers' theory) a client drawn r times is returned r times: it trains
    once and counts r times in a uniform mean, which makes that mean unbiased.  Without, one client
    after the other is drawn among those left.

    Cost: nothing beyond the round itself; O(available).
    """

    replacement: bool = Field(
        False, description="whether one client may be drawn repeatedly (FedCore, Assumption A.6)"
    )

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        ids = view.available
        samples = view.history.samples[ids]
        if not samples.any():
            return ids[:k]
        if self.replacement:
            share = np.cumsum(samples) / samples.sum()
            return np.sort(ids[np.searchsorted(share, rng.random(k), side="right")])
        if len(ids) <= k:
            return ids
        return np.sort(ids[successive(log_shares(samples), k, rng)])
