"""Active federated learning: prefer clients whose data the model fits badly.

Goetz et al., "Active Federated Learning", arXiv:1909.12641, Algorithm 1; docs/algorithms.md, A.3.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.selectors._losses import LossTracker
from simfl.components.selectors.base import Answers, View, selectors
from simfl.components.selectors.mathematics.draws import successive
from simfl.core.apportion import whole_share
from simfl.core.types import Ids, Rng


@selectors.register("afl")
class Afl(LossTracker):
    """Values client k at ``sqrt(n_k) * loss_k`` and prefers high values, softly.

    The `discarded` share with the smallest values is set aside; most of the clients are drawn from
    the rest with probabilities ``softmax(sharpness * value)``, the others uniformly from everybody
    not yet drawn.  Values are refreshed by participants only; a missing one counts as the median.

    Cost: before the first round one loss from every client (a download, a forward pass, 4 bytes
    up); then a forward pass and 4 bytes per participant.  Server: O(N log N).
    """

    wants: ClassVar[tuple[str, ...]] = ("loss",)

    discarded: float = Field(
        0.75, ge=0, le=1, description="share of clients set aside, alpha1 (section 3)"
    )
    sharpness: float = Field(
        0.01, ge=0, description="steepness of the softmax over values, alpha2 (section 3)"
    )
    uniform_share: float = Field(
        0.1, ge=0, le=1, description="share of a round drawn uniformly, alpha3 (section 3)"
    )

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        value = self.values(view, reports)
        ids = view.available
        if len(ids) <= k:
            return ids
        value = value[ids]
        best_first = np.argsort(-value, kind="stable")
        kept = np.sort(best_first[: len(ids) - whole_share(self.discarded, len(ids))])
        by_value = whole_share(1 - self.uniform_share, k)
        drawn = kept[successive(self.sharpness * value[kept], by_value, rng)]
        others = np.setdiff1d(np.arange(len(ids)), drawn)
        filled = rng.choice(others, size=k - len(drawn), replace=False)
        return np.sort(ids[np.concatenate([drawn, filled])])
