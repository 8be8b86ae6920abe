"""Adaptive server optimizers (Reddi et al., 2021, arXiv:2003.00295, algorithm 2)."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.core.types import Floats, Params


class Adaptive(Aggregator):
    """A step along a running mean of updates, shorter where updates were large."""

    weighting: Weighting = Field("samples", description="samples: by n_k; uniform: all equally")
    lr: float = Field(0.1, gt=0, description="server learning rate (the paper tunes it)")
    beta1: float = Field(0.9, ge=0, lt=1, description="momentum of the mean update")
    tau: float = Field(1e-3, gt=0, le=1e9, description="adaptivity: the smaller, the more adaptive")

    _mean: Floats | None = PrivateAttr(None)
    _square: Floats | None = PrivateAttr(None)

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        delta = sum_of(contributions, weights_of(contributions, self.weighting), "updates")
        mean = np.zeros_like(delta) if self._mean is None else self._mean
        square = np.full_like(delta, self.tau**2) if self._square is None else self._square
        self._mean = self.beta1 * mean + (1 - self.beta1) * delta
        self._square = self._next_square(square, delta**2)
        step = self._mean / (np.sqrt(self._square) + self.tau)
        return (model + self.lr * step).astype(np.float32)

    @abstractmethod
    def _next_square(self, square: Floats, delta2: Floats) -> Floats:
        """Return `(p,)` v after an update whose square is `(p,)` `delta2`."""


@aggregators.register("fedadagrad")
class FedAdagrad(Adaptive):
    """``v = v + delta^2``; the paper's own experiments have no momentum here.

    ``m = beta1 m + (1 - beta1) delta; w = w + lr m / (sqrt(v) + tau)``, delta the weighted mean
    update, m = 0 and v = tau^2 at first; no bias correction.  Cost: O(r * p), memory O(p).
    """

    beta1: float = Field(0.0, ge=0, lt=1, description="momentum of the mean update")

    @override
    def _next_square(self, square: Floats, delta2: Floats) -> Floats:
        return square + delta2


@aggregators.register("fedadam")
class FedAdam(Adaptive):
    """``v = beta2 v + (1 - beta2) delta^2``.

    ``m = beta1 m + (1 - beta1) delta; w = w + lr m / (sqrt(v) + tau)``, delta the weighted mean
    update, m = 0 and v = tau^2 at first; no bias correction.  Cost: O(r * p), memory O(p).
    """

    beta2: float = Field(0.99, ge=0, lt=1, description="memory of the squared updates")

    @override
    def _next_square(self, square: Floats, delta2: Floats) -> Floats:
        return self.beta2 * square + (1 - self.beta2) * delta2


@aggregators.register("fedyogi")
class FedYogi(Adaptive):
    """``v = v - (1 - beta2) delta^2 sign(v - delta^2)``.

    ``m = beta1 m + (1 - beta1) delta; w = w + lr m / (sqrt(v) + tau)``, delta the weighted mean
    update, m = 0 and v = tau^2 at first; no bias correction.  Cost: O(r * p), memory O(p).
    """

    beta2: float = Field(0.99, ge=0, lt=1, description="memory of the squared updates")

    @override
    def _next_square(self, square: Floats, delta2: Floats) -> Floats:
        return square - (1 - self.beta2) * delta2 * np.sign(square - delta2)
