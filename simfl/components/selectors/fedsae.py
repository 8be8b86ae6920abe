"""FedSAE's selection by loss; its prediction of workloads is a workload of its own.

Li et al., "FedSAE: A Novel Self-Adaptive Federated Learning Framework in Heterogeneous Systems",
IJCNN 2021, section III-C; docs/algorithms.md, A.9.
"""

from collections.abc import Mapping

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.selectors._losses import LossTracker
from simfl.components.selectors.base import Answers, Probe, Report, RoundOutcome, View, selectors
from simfl.components.selectors.mathematics.draws import successive
from simfl.core.types import Ids, Rng


@selectors.register("fedsae")
class FedSae(LossTracker):
    """Draws clients with probabilities ``softmax(beta * sqrt(n_k) * loss_k)``, without replacement.

    With the authors' beta and equal sizes this is close to uniform; `top_loss` takes the largest
    last known losses instead, which FL-DP3S's account of it suggests.  An unknown loss counts as
    the median.

    A loss is one at the global model: everybody's at the initial one, then each participant's at
    the model that its round led to, asked for before the next choice that finds it online.

    Cost: a download, a forward pass and 4 bytes up for each of these losses.  Server: O(N log N).
    """

    beta: float = Field(0.01, ge=0, description="steepness of the softmax (authors' code)")
    top_loss: bool = Field(
        False, description="whether to take the largest known losses instead of drawing"
    )

    _outdated: Ids | None = PrivateAttr(default=None)

    @override
    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        return {"loss": devices + (rounds - 1) * min(clients, devices)}

    @override
    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        if self._outdated is None or reports:
            return super().probe(view, reports, rng)
        asked = np.intersect1d(self._outdated, view.available)
        return Probe("loss", asked) if len(asked) else None

    @override
    def observe(self, outcome: RoundOutcome) -> None:
        before = outcome.arrived[:0] if self._outdated is None else self._outdated
        self._outdated = np.union1d(before, outcome.arrived)

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        self._hear(reports)
        value, loss = self.values(view, reports), self.losses()
        ids = view.available
        if self.top_loss:
            return np.sort(ids[np.argsort(-loss[ids], kind="stable")[:k]])
        return np.sort(ids[successive(self.beta * value[ids], k, rng)])

    def _hear(self, reports: Answers) -> None:
        for report in reports:
            if self._outdated is not None:
                self._outdated = np.setdiff1d(self._outdated, report.clients)
