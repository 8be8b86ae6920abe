"""Numbers of which there are only so many: Zipf's, and a choice of a few."""

import math
from typing import Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.core.types import Floats, Ids
from simfl.scenario.distributions.base import Draw, Parameter, Truncated, pick


class Zipf(Truncated):
    """Multiples k = 1, 2, ... of `scale`, with probability in proportion to k^-exponent."""

    distribution = "zipf"
    exponent: float = Field(gt=0, description="a pure number; larger means fewer large values")
    scale: Parameter = Field(description="the smallest value, and the step between values")
    max: Parameter = Field(description="the largest value, if a multiple of `scale`")

    @model_validator(mode="after")
    def _countable(self) -> Self:
        if self.scale == 0 or not 1 <= self._times(self.max) <= 10_000_000:
            raise ValueError("expected a `max` of 1 to 10,000,000 times `scale`")
        if math.ceil(self._times(self.min or 0.0)) > math.floor(self._times(self.max)):
            raise ValueError("no multiple of `scale` lies between `min` and `max`")
        return self

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        first = max(1, math.ceil(self._times(self.min or 0.0)))
        ranks = np.arange(first, math.floor(self._times(self.max)) + 1, dtype=np.float64)
        return self.inside(ranks * self.scale)[pick(len(ranks), u, ranks**-self.exponent)]

    def _times(self, bound: float) -> float:
        """Return how many times `scale` a bound is: 300 ms are 3 times 100 ms, not 2.9999999."""
        return round(bound / self.scale, 6)

    @override
    def lowest(self) -> float:
        return max(self.scale, self.min or 0.0)


class Choice(Draw):
    """One of `values`, with probability in proportion to `weights`."""

    distribution = "choice"
    options: tuple[Parameter, ...] = Field(
        alias="values", min_length=1, description="what there is to choose from"
    )
    weights: tuple[float, ...] | None = Field(None, description="none: all equally likely")

    @model_validator(mode="after")
    def _paired(self) -> Self:
        if self.weights is None:
            return self
        if len(self.weights) != len(self.options):
            raise ValueError(
                f"expected as many `weights` as `values`, got {len(self.weights)} and "
                f"{len(self.options)}"
            )
        if min(self.weights) < 0 or not 0 < sum(self.weights) < math.inf:
            raise ValueError("`weights` must not be negative, all zero or without bound")
        return self

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        options = np.array(self.options)
        order = np.argsort(options, kind="stable")  # larger uniforms, larger values, as elsewhere
        weights = None if self.weights is None else np.array(self.weights)[order]
        return options[order][pick(len(options), u, weights)]

    @override
    def lowest(self) -> float:
        return min(self.options)
