"""FedNova: normalised averaging (Wang et al., 2020, arXiv:2007.07481, sections 3.2 and 4)."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from simfl.aggregators.base import Aggregator, Contribution, aggregators
from simfl.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.work import Params


@aggregators.register("fednova")
class FedNova(Aggregator):
    """``w = w + tau_eff * sum p_k update_k / a_k`` with ``tau_eff = sum p_k a_k``.

    `a_k` is how far `steps` local steps reach, so that clients that made more steps do not pull the
    model further than their weight says.  Equal steps: FedAvg.  A client without steps has no say.
    Tell it the momentum or proximal term that local training has.
    Cost: O(r * p), memory O(p).
    """

    weighting: Weighting = Field("samples", description="samples: by n_k; uniform: all alike")
    momentum: float = Field(0.0, ge=0, lt=1, description="momentum of local training (rho)")
    proximal: float = Field(
        0.0, ge=0, lt=1, description="learning rate times FedProx's mu of local training"
    )

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if self.momentum and self.proximal:
            raise ValueError("momentum and proximal can't both be above 0: no formula is published")
        return self

    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        """See `Aggregator.aggregate`."""
        moved = [c for c in contributions if c.result.steps > 0]
        if not moved:
            return model
        weights = weights_of(moved, self.weighting)
        reach = np.array([self._reach(c.result.steps) for c in moved])
        step = sum_of(moved, (weights @ reach) * weights / reach, "updates")
        return (model + step).astype(np.float32)

    def _reach(self, steps: int) -> float:
        """Return a_k (algorithms.md, B.5): the steps' total weight in the accumulated gradient."""
        if rho := self.momentum:
            return float((steps - rho * (1 - rho**steps) / (1 - rho)) / (1 - rho))
        if rate := self.proximal:
            return float((1 - (1 - rate) ** steps) / rate)
        return float(steps)
