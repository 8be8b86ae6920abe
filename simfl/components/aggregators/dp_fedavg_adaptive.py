"""DP-FedAvg with adaptive clipping (Andrew et al., NeurIPS 2021, arXiv:1905.03871, algorithm 1)."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import aggregators
from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Params, Rng
from simfl.core.units import Percent

COUNT_NOISE = 0.05
"""Of the clients of a round, as in TensorFlow Federated."""


@aggregators.register("dp_fedavg_adaptive")
class DpFedAvgAdaptive(DpFedAvg):
    """`dp_fedavg` whose `clip` follows a quantile of the updates' lengths, round by round.

    ``clip = clip * exp(-lr * (share - quantile))``, share being ``1/2 + (sum_k (b_k - 1/2) +
    N(0, count_noise^2)) / clients`` and b_k whether client k's update was no longer than `clip`; a
    client from which nothing came is in neither sum.  A round spends as much as one of `dp_fedavg`
    with the same `noise_multiplier` z: telling the share is paid for by more noise in the updates,
    ``(z^-2 - (2 count_noise)^-2)^(-1/2)`` times `clip`.  How `clip` went is in aggregator.npz.
    Cost: O(r * p), memory O(p).
    """

    clip: float = Field(0.1, gt=0, description="largest L2 norm of an update in the first round")
    noise_multiplier: float = Field(
        ge=0, description="z of a `dp_fedavg` that spends as much; 0: no noise", examples=[1.0]
    )
    quantile: Percent = Field(
        0.5, gt=0, lt=1, description="share of updates that are to be no longer than `clip` (gamma)"
    )
    lr: float = Field(0.2, ge=0, le=10, description="how fast `clip` follows (eta_C)")
    count_noise: float | None = Field(
        None,
        ge=0,
        description="standard deviation of the noise in the number of unclipped updates (sigma_b), "
        "above half of `noise_multiplier`; omitted: a twentieth of `rounds.clients`",
    )

    _clips: tuple[float, ...] = PrivateAttr(())
    _balance: float = PrivateAttr(0.0)

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        spread = self._spread(circumstances.clients)
        if self.noise_multiplier and 2 * spread <= self.noise_multiplier:
            given = "" if self.count_noise is not None else ", a twentieth of `rounds.clients`"
            yield (
                f"aggregator {self.name!r} needs a `count_noise` above half of its "
                f"`noise_multiplier`, {self.noise_multiplier / 2:g}, but it is {spread:g}{given}"
            )

    @override
    def state_dict(self) -> dict[str, Any]:
        return {"_clips": self._clips}

    @override
    def diagnostics(self) -> dict[str, NDArray[Any]]:
        """Return `(m + 1,)` the `clip` of each of m rounds with updates, and that of the next."""
        return {"clip": np.array(self._clips or (self.clip,))}

    @override
    def _bound_of(self, lengths: Floats) -> float:
        self._balance = float((lengths <= self._bound).sum()) - len(lengths) / 2
        return self._bound

    @override
    def perturb(self, model: Params, rng: Rng) -> Params:
        made, bound = super().perturb(model, rng), self._bound
        counted = self._balance + self._spread(self._per_round) * float(rng.standard_normal())
        step = -self.lr * (0.5 + counted / self._per_round - self.quantile)
        self._clips = (*(self._clips or (bound,)), bound * _growth(step))
        return made

    @property
    def _bound(self) -> float:
        return self._clips[-1] if self._clips else self.clip

    @property
    @override
    def _noise(self) -> float:
        return self.noise_multiplier * self.louder(self._per_round) * self._bound

    def louder(self, per_round: int) -> float:
        """Return how many times as much noise updates get as those of `dp_fedavg` (theorem 1)."""
        spread = self._spread(per_round)
        told = self.noise_multiplier / (2 * spread) if spread else 0.0
        return float((1 - told**2) ** -0.5)

    def _spread(self, per_round: int) -> float:
        """Return the standard deviation of the noise in the number of unclipped updates."""
        if self.count_noise is None:
            return COUNT_NOISE * per_round if self.noise_multiplier else 0.0
        return self.count_noise


def _growth(step: float) -> float:
    """Return by how many times `clip` grows: infinitely, where no number is as large."""
    try:
        return math.exp(step)
    except OverflowError:
        return math.inf
