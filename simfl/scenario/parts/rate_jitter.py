"""Rates that vary from time to time."""

from typing import Self

from pydantic import Field, model_validator

from simfl.scenario.distributions.data_size import DataSize
from simfl.scenario.parts.device_number import ComputeDraw
from simfl.scenario.parts.part import Part

_SIGMA = "standard deviation of the factor's logarithm; its median is 1"


class RateJitter(Part):
    """How a device's rates differ from time to time: by a log-normal factor."""

    sigma: float = Field(gt=0, le=5, description=_SIGMA)


class ComputeJitter(Part):
    """How a device's speed differs from training to training: by a factor, or drawn anew."""

    sigma: float | None = Field(None, gt=0, le=5, description=_SIGMA)
    anew: ComputeDraw | None = Field(
        None,
        description="instead: the speed, or the time of a sample, of each training (not in "
        "FLOP/s), whatever its device's `compute` is, which plans go by",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.sigma is None) == (self.anew is None):
            raise ValueError("expected either `sigma` or `anew`")
        if self.anew is not None and self.anew.unit == "FLOP/s":
            raise ValueError("expected `anew` in samples/s or ms/sample, got FLOP/s")
        if isinstance(self.anew, DataSize):
            raise ValueError("a device's data size, unlike its speed, is not drawn anew")
        return self
