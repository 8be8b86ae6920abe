"""FedAT: mix the models of tiers (Chai et al., 2021, arXiv:2010.05958, equation 3, algorithm 2)."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Params
from simfl.errors import RunError


@aggregators.register("fedat")
class FedAT(Aggregator):
    """``w = sum_m T_(M+1-m) / T * w_m``: the rarer a tier's updates, the more its model weighs.

    w_m is the mean of what tier m (of M, fastest first) sent last, T_m how often it did, and T the
    sum of those; a tier that has sent nothing counts with the initial model.  Goes with
    ``policy: tiered`` with as many tiers.  Cost: O((r + M) * p), memory O(M * p).
    """

    tiers: int = Field(5, ge=1, description="M, as in the policy (the paper: 5)")
    weighting: Weighting = Field(
        "samples", description="inside a tier; samples: by training samples (n_k); uniform: 1/K"
    )

    _initial: Params | None = PrivateAttr(None)
    _models: dict[int, Any] = PrivateAttr(default_factory=dict)
    _updates: dict[int, int] = PrivateAttr(default_factory=dict)

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if circumstances.tiers != self.tiers:
            several = circumstances.tiers > 1
            has = f"has {circumstances.tiers}" if several else "has but one, of all clients"
            yield (
                f"aggregator {self.name!r} mixes {self.tiers} tiers, but policy "
                f"{circumstances.policy!r} {has}; give both the same number of `tiers`"
            )

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        """Mix the models of the tiers, those that came seldom with the larger weights.

        Raises:
            RunError: an update comes from a tier beyond the last.
        """
        if (most := max(contribution.tier for contribution in contributions)) >= self.tiers:
            raise RunError(
                f"aggregation fedat mixes {self.tiers} tiers, but an update came from number "
                f"{most + 1}; give it as many tiers as the policy has"
            )
        if self._initial is None:
            self._initial = model
        for tier in sorted({contribution.tier for contribution in contributions}):
            mine = [contribution for contribution in contributions if contribution.tier == tier]
            weights = weights_of(mine, self.weighting)
            if weights.any():
                self._models[tier] = sum_of(mine, weights).astype(np.float32)
                self._updates[tier] = self._updates.get(tier, 0) + 1
        total = sum(self._updates.values())
        if not total:
            return model
        mixed: Floats = np.zeros(len(model))
        for tier in range(self.tiers):
            share = self._updates.get(self.tiers - 1 - tier, 0) / total
            mixed += share * self._models.get(tier, self._initial).astype(np.float64)
        return mixed.astype(np.float32)
