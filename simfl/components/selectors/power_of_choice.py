"""Power-of-choice client selection, pow-d, and its cheap variants cpow-d and rpow-d.

Cho, Wang & Joshi, "Client Selection in Federated Learning: Convergence Analysis and
Power-of-Choice Selection Strategies", arXiv:2010.01243, section 4; docs/algorithms.md, A.4.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveInt
from typing_extensions import override

from simfl.components.selectors.base import Answers, Probe, Report, Selector, View, selectors
from simfl.components.selectors.mathematics.draws import log_shares, spread, successive
from simfl.core.types import Ids, Rng


@selectors.register("power_of_choice")
class PowerOfChoice(Selector):
    """Draws d candidates in proportion to their data and keeps those with the largest losses.

    A candidate whose loss is unknown ranks first, so that everybody is tried; equal losses go to
    the lowest id.

    Cost: `fresh` d downloads, d forward passes over the candidates' data and 4 d bytes up per
    round (the chosen ones need no second download); `minibatch` the same with a forward pass over
    one mini-batch; `last` nothing.  Server: O(available).
    """

    needs_training: ClassVar[bool] = True

    candidates: PositiveInt | None = Field(
        None,
        description="d, the number of candidate clients; default twice the clients per round "
        "(FedCor, appendix C.1)",
    )
    loss: Literal["fresh", "last", "minibatch"] = Field(
        "fresh",
        description="fresh: asked each round (pow-d); minibatch: the same on one mini-batch "
        "(cpow-d); last: what each last reported (rpow-d)",
    )
    minibatch: PositiveInt = Field(64, description="samples in cpow-d's mini-batch")

    def _drawn(self, k: int) -> int:
        return max(self.candidates or 2 * k, k)

    def _draw(self, view: View, k: int, rng: Rng) -> Ids:
        ids = view.available
        shares = log_shares(view.history.samples[ids])
        return np.sort(ids[successive(shares, self._drawn(k), rng)])

    @override
    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        asked = 0 if self.loss == "last" else min(self._drawn(clients), devices)
        return {"loss": asked * rounds}

    @override
    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        if self.loss == "last" or reports or not len(view.available):
            return None
        samples = self.minibatch if self.loss == "minibatch" else None
        return Probe("loss", self._draw(view, view.k, rng), samples=samples)

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        loss = view.history.loss
        if reports:
            ids = np.intersect1d(reports[0].probe.clients, view.available)
            loss = spread(reports[0].values, reports[0].clients, view.clients)
        else:
            ids = self._draw(view, k, rng)
        if len(ids) < k:  # candidates left meanwhile: anybody else, by size
            others = np.setdiff1d(view.available, ids)
            extra = successive(log_shares(view.history.samples[others]), k - len(ids), rng)
            return np.sort(np.concatenate([ids, others[extra]]))
        rank = np.where(np.isfinite(loss[ids]), loss[ids], np.inf)
        return np.sort(ids[np.argsort(-rank, kind="stable")[:k]])
