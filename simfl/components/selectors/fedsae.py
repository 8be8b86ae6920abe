"""FedSAE's selection by loss; its prediction of workloads is a workload of its own.

Li et al., "FedSAE: A Novel Self-Adaptive Federated Learning Framework in Heterogeneous Systems",
IJCNN 2021, section III-C; docs/algorithms.md, A.9.
"""

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.selectors._draws import successive
from simfl.components.selectors._losses import LossTracker
from simfl.components.selectors.base import Reports, View, selectors
from simfl.core.types import Ids


@selectors.register("fedsae")
class FedSae(LossTracker):
    """Draws clients with probabilities ``softmax(beta * sqrt(n_k) * loss_k)``, without replacement.

    With the authors' beta and equal sizes this is close to uniform; `top_loss` takes the largest
    last known losses instead, which FL-DP3S's account of it suggests.  An unknown loss counts as
    the median.

    Cost: before the first round one loss from every client (a download, a forward pass, 4 bytes
    up); then 4 bytes per participant.  Server: O(N log N).
    """

    beta: float = Field(0.01, ge=0, description="steepness of the softmax (authors' code)")
    top_loss: bool = Field(
        False, description="whether to take the largest known losses instead of drawing"
    )

    @override
    def select(
        self, view: View, reports: tuple[Reports, ...], k: int, rng: np.random.Generator
    ) -> Ids:
        value, loss = self.values(view, reports), self.losses()
        ids = view.available
        if self.top_loss:
            return np.sort(ids[np.argsort(-loss[ids], kind="stable")[:k]])
        return np.sort(ids[successive(self.beta * value[ids], k, rng)])
