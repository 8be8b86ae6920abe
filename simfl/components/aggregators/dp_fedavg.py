"""DP-FedAvg: client-level differential privacy (McMahan et al., 2018, arXiv:1710.06963, alg. 1)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import block_of, blocks, sum_of
from simfl.components.local_training import LocalTraining
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Params, Rng
from simfl.errors import RunError


@aggregators.register("dp_fedavg")
class DpFedAvg(Aggregator):
    """``w = w + (sum clipped(update_k) + N(0, (noise_multiplier * clip)^2)) / clients``.

    An update longer than `clip` (L2 norm) is shortened to it, and all count alike; what a client
    that was drawn twice sends is clipped together.  `clients` is `rounds.clients`, even if fewer
    are found or arrive (the fixed-denominator estimator): nobody's weight depends on the others.
    The server clips what it has received, after compression, and adds the noise.  Not hidden: that
    nobody arrived (the model stays, without noise), losses, evaluations, times.  A run that has
    ended tells the epsilon it has spent (`privacy` in summary.json; docs/algorithms.md, C).
    Cost: O(r * p), memory O(p).
    """

    clip: float = Field(gt=0, description="largest L2 norm of an update (S)", examples=[1.0])
    noise_multiplier: float = Field(
        ge=0,
        description="z: standard deviation of the noise in a sum of updates, over `clip`; 0: none",
        examples=[1.0],
    )
    delta: float = Field(
        1e-5,
        gt=0,
        lt=1,
        description="at which the privacy spent is told; below one over the number of devices",
    )

    _per_round: int = PrivateAttr(0)

    @override
    def prepare(self, local: LocalTraining, clients: int, per_round: int) -> None:
        self._per_round = per_round

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if circumstances.may_be_stale:
            yield (
                f"aggregator {self.name!r} needs rounds of a known number of updates: the policy "
                "'synchronous', with `late: drop`"
            )

    @override
    def state_dict(self) -> dict[str, Any]:
        """Nothing changes from round to round."""
        return {}

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        """Add the clipped updates.

        Raises:
            RunError: it was not told how many clients a round wants.
        """
        if not self._per_round:
            raise RunError("aggregator 'dp_fedavg' was not told how many clients a round wants")
        copies = np.array([c.copies for c in contributions], dtype=np.float64)
        lengths: Floats = copies * [_length(c) for c in contributions]
        bound = self._bound_of(lengths)
        shares: Floats = copies * bound / np.maximum(lengths, bound) / self._per_round
        return (model + sum_of(contributions, shares, "updates")).astype(np.float32)

    @override
    def perturb(self, model: Params, rng: Rng) -> Params:
        scale = self._noise / self._per_round
        return (model + scale * rng.standard_normal(len(model))).astype(np.float32)

    def _bound_of(self, lengths: Floats) -> float:
        """Return what updates of these `(r,)` lengths are clipped to."""
        return self.clip

    @property
    def _noise(self) -> float:
        """Standard deviation of the noise in the sum of a round's clipped updates."""
        return self.noise_multiplier * self.clip


def _length(contribution: Contribution) -> float:
    """Return the L2 norm of an update."""
    square = 0.0
    for columns in blocks(len(contribution.base)):
        square += float((block_of(contribution, columns, "updates") ** 2).sum())
    return math.sqrt(square)
