"""Uniform and exponential numbers."""

from typing import Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.core.types import Floats, Ids
from simfl.scenario.distributions.base import Parameter, Truncated


class Uniform(Truncated):
    """Every number between `min` and `max` is equally likely."""

    distribution = "uniform"
    min: Parameter = Field(description="the least")
    max: Parameter = Field(description="the most")

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        return self.inside(self.min + u * (self.max - self.min))


class Exponential(Truncated):
    """The exponential distribution."""

    distribution = "exponential"
    mean: Parameter = Field(description="before it is truncated")

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.mean == 0:
            raise ValueError("the mean of an exponential number must be above zero")
        return self

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        low = self.min or 0.0
        # No memory: beyond `low` it is the same distribution again, cut off at `max`.
        share = 1.0 if self.max is None else -np.expm1(-(self.max - low) / self.mean)
        return self.inside(low - self.mean * np.log1p(-u * share))

    @override
    def lowest(self) -> float:
        return self.min or np.finfo(float).tiny
