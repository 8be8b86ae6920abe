"""Normal numbers, and numbers whose logarithm is normal."""

from typing import Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.core.types import Floats, Ids
from simfl.scenario.distributions.base import Parameter, Truncated

_TINY = 1e-290
"""Probabilities below this one lose their digits, and are reckoned with by their logarithms."""

_FARTHEST = 1e300
"""Standard deviations: a bound has no place in a distribution that is narrower still."""


def truncated_normal(u: Floats, low: float, high: float) -> Floats:
    """Return the `(m,)` standard normal quantiles of `u`, given that they lie in [low, high].

    Where the interval lies above zero it is mirrored below, where the distribution function keeps
    its digits (its distance from one does not).
    """
    from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

    low, high = min(low, _FARTHEST), max(high, -_FARTHEST)
    if low > 0:
        return np.asarray(-truncated_normal(1.0 - u, -high, -low))
    below, above = ndtr(low), ndtr(high)
    if above > _TINY:
        return np.asarray(ndtri(below + u * (above - below)))
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(log_ndtr(low) + np.log1p(-u), log_ndtr(high) + np.log(u))
    values = ndtri_exp(logs)
    return np.where(np.isfinite(values), values, high)  # so far out that all are at the bound


class Normal(Truncated):
    """The normal distribution."""

    distribution = "normal"
    mean: Parameter = Field(description="before it is truncated")
    std: Parameter = Field(description="standard deviation, in the unit of the number")

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        if self.std == 0:
            return self.inside(np.full(len(u), self.mean))
        low = -np.inf if self.min is None else (self.min - self.mean) / self.std
        high = np.inf if self.max is None else (self.max - self.mean) / self.std
        return self.inside(self.mean + self.std * truncated_normal(u, low, high))

    @override
    def lowest(self) -> float:
        return super().lowest() if self.std > 0 else max(self.mean, super().lowest())


class Lognormal(Truncated):
    """The distribution of a number whose logarithm is normal."""

    distribution = "lognormal"
    median: Parameter | None = Field(None, description="before it is truncated; with `sigma`")
    sigma: float | None = Field(
        None, ge=0, description="standard deviation of the natural logarithm, a pure number"
    )
    mean: Parameter | None = Field(
        None, description="of the number itself, before it is truncated; with `std`"
    )
    std: Parameter | None = Field(None, description="standard deviation of the number itself")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [
            name for name in ("median", "sigma", "mean", "std") if getattr(self, name) is not None
        ]
        if given not in (["median", "sigma"], ["mean", "std"]):
            raise ValueError(
                "expected either `median` and `sigma` or `mean` and `std`, got "
                + (" and ".join(f"`{name}`" for name in given) or "neither")
            )
        if not (self.median or self.mean):
            raise ValueError("the median or mean of a lognormal number must be above zero")
        return self

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        location, sigma = self._logarithm()
        if sigma == 0:
            return self.inside(np.full(len(u), np.exp(location)))
        low = (np.log(self.min) - location) / sigma if self.min else -np.inf
        high = np.inf if self.max is None else (np.log(self.max) - location) / sigma
        return self.inside(np.exp(location + sigma * truncated_normal(u, low, high)))

    @override
    def lowest(self) -> float:
        return self.min or np.finfo(float).tiny

    def _logarithm(self) -> tuple[float, float]:
        """Return mean and standard deviation of the logarithm."""
        if self.median is not None:
            return float(np.log(self.median)), self.sigma or 0.0
        assert self.mean is not None
        assert self.std is not None
        variance = np.log1p((self.std / self.mean) ** 2)
        return float(np.log(self.mean) - variance / 2), float(np.sqrt(variance))
