"""Distributions: how a number differs from device to device.

A distribution stands wherever a scenario gives a device's number, and its parameters are
quantities of that number's dimension.  Each device's value is the inverse distribution function at
the device's own uniform number (`scipy.special`, vectorised), so it depends on nothing else: adding
a group, another distribution or a correlation between numbers shifts nobody else's draw.

`min` and `max` truncate exactly: the uniform is mapped to the quantiles that lie inside, so the
result is the distribution *given* that it lies between them, with no heap of values at the bounds.
(A truncated distribution's mean and median differ from the parameters, which describe it before.)
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SerializationInfo,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from simfl.errors import InputError
from simfl.scenario.empirical import read_column
from simfl.units import Dimension, Quantity
from simfl.work import Floats, Ids


def _parse(value: object, info: ValidationInfo) -> float:
    context = info.context or {}
    # A standard deviation may be zero even if the number itself may not.
    dimension = replace(context["dimension"], positive=False)
    unlimited = context.get("unlimited", False) and info.field_name in ("value", "options")
    return Quantity(dimension, unlimited=unlimited).parse(value)


def _dump(value: float, info: SerializationInfo) -> str:
    return Quantity((info.context or {})["dimension"]).dump(value)


Parameter = Annotated[
    float,
    PlainValidator(_parse),
    PlainSerializer(_dump, when_used="json"),
    WithJsonSchema({"type": "string"}),
]
"""A quantity of the dimension that the distribution's field has (given as validation context)."""


class Draw(BaseModel, ABC):
    """How one number of each device is drawn; frozen, and fully described by its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    distribution: ClassVar[str]
    _dimension: Dimension = PrivateAttr()

    @property
    def unit(self) -> str:
        """Base unit of the values, such as ``bit/s``, ``samples/s`` or ``FLOP/s``."""
        return self._dimension.base

    @abstractmethod
    def values(self, u: Floats, samples: Ids) -> Floats:
        """Return `(n,)` numbers in base units.

        Args:
            u: `(n,)` uniform numbers in (0, 1), one of each device.
            samples: `(n,)` training samples that each device holds.

        Raises:
            InputError: a number is not possible (a rate of zero or less).
        """

    def lowest(self) -> float:
        """Return the infimum of the values (-inf: unbounded)."""
        return -np.inf

    @classmethod
    def build(cls, options: dict[str, Any], dimension: Dimension, **context: Any) -> Self:
        """Return the draw with these `options`, quantities of `dimension` as text.

        Raises:
            ValidationError: all that is wrong with them.
        """
        draw = cls.model_validate(options, context={"dimension": dimension, **context})
        draw._dimension = dimension
        return draw

    def text(self) -> dict[str, Any]:
        """Return the options that `build` accepts, with the distribution's name."""
        context = {"dimension": self._dimension}
        options = self.model_dump(mode="json", by_alias=True, exclude_none=True, context=context)
        return {"distribution": self.distribution, **options}


class Constant(Draw):
    """The same number for every device."""

    distribution = "constant"
    value: Parameter

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        return np.full(len(u), self.value)

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return self.value


class _Truncated(Draw):
    """A distribution that `min` and `max` truncate."""

    min: Parameter | None = Field(None, description="truncate below")
    max: Parameter | None = Field(None, description="truncate above")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min is not None and self.max is not None and not self.min < self.max:
            raise ValueError("`min` must be below `max`")
        return self

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return -np.inf if self.min is None else self.min

    def _inside(self, values: Floats) -> Floats:
        """Return `values` kept from leaving the bounds by rounding."""
        low = -np.inf if self.min is None else self.min
        high = np.inf if self.max is None else self.max
        return np.clip(values, low, high)


def truncated_normal(u: Floats, low: float, high: float) -> Floats:
    """Return standard normal quantiles given that they lie in [low, high].

    Where the interval lies above zero it is mirrored below, where the distribution function keeps
    its digits (its distance from one does not).
    """
    from scipy.special import ndtr, ndtri

    if low > 0:
        return np.asarray(-truncated_normal(1.0 - u, -high, -low))
    below, above = ndtr(low), ndtr(high)
    return np.asarray(ndtri(below + u * (above - below)))


class Normal(_Truncated):
    """The normal distribution."""

    distribution = "normal"
    mean: Parameter
    std: Parameter = Field(description="standard deviation, in the unit of the number")

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        if self.std == 0:
            return self._inside(np.full(len(u), self.mean))
        low = -np.inf if self.min is None else (self.min - self.mean) / self.std
        high = np.inf if self.max is None else (self.max - self.mean) / self.std
        return self._inside(self.mean + self.std * truncated_normal(u, low, high))

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return super().lowest() if self.std > 0 else max(self.mean, super().lowest())


class Lognormal(_Truncated):
    """The distribution of a number whose logarithm is normal."""

    distribution = "lognormal"
    median: Parameter | None = None
    sigma: float | None = Field(
        None, ge=0, description="standard deviation of the natural logarithm, a pure number"
    )
    mean: Parameter | None = None
    std: Parameter | None = None

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

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        location, sigma = self._logarithm()
        if sigma == 0:
            return self._inside(np.full(len(u), np.exp(location)))
        low = (np.log(self.min) - location) / sigma if self.min else -np.inf
        high = np.inf if self.max is None else (np.log(self.max) - location) / sigma
        return self._inside(np.exp(location + sigma * truncated_normal(u, low, high)))

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return self.min or np.finfo(float).tiny

    def _logarithm(self) -> tuple[float, float]:
        """Return mean and standard deviation of the logarithm."""
        if self.median is not None:
            return float(np.log(self.median)), self.sigma or 0.0
        assert self.mean is not None
        assert self.std is not None
        variance = np.log1p((self.std / self.mean) ** 2)
        return float(np.log(self.mean) - variance / 2), float(np.sqrt(variance))


class Uniform(_Truncated):
    """Every number between `min` and `max` is equally likely."""

    distribution = "uniform"
    min: Parameter
    max: Parameter

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        return self._inside(self.min + u * (self.max - self.min))


class Exponential(_Truncated):
    """The exponential distribution."""

    distribution = "exponential"
    mean: Parameter

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.mean == 0:
            raise ValueError("the mean of an exponential number must be above zero")
        return self

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        low = self.min or 0.0
        # No memory: beyond `low` it is the same distribution again, cut off at `max`.
        share = 1.0 if self.max is None else -np.expm1(-(self.max - low) / self.mean)
        return self._inside(low - self.mean * np.log1p(-u * share))

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return self.min or np.finfo(float).tiny


class Zipf(_Truncated):
    """Multiples k = 1, 2, ... of `scale`, with probability in proportion to k^-exponent."""

    distribution = "zipf"
    exponent: float = Field(gt=0, description="a pure number; larger means fewer large values")
    scale: Parameter = Field(description="the smallest value, and the step between values")
    max: Parameter

    @model_validator(mode="after")
    def _countable(self) -> Self:
        if self.scale == 0 or not 1 <= self.max / self.scale <= 10_000_000:
            raise ValueError("expected a `max` of 1 to 10,000,000 times `scale`")
        if self.min is not None and np.ceil(self.min / self.scale) > np.floor(
            self.max / self.scale
        ):
            raise ValueError("no multiple of `scale` lies between `min` and `max`")
        return self

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        first = max(1, int(np.ceil((self.min or 0.0) / self.scale)))
        ranks = np.arange(first, int(np.floor(self.max / self.scale)) + 1, dtype=np.float64)
        return _pick(ranks * self.scale, ranks**-self.exponent, u)

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return max(self.scale, self.min or 0.0)


class Choice(Draw):
    """One of `values`, with probability in proportion to `weights`."""

    distribution = "choice"
    options: tuple[Parameter, ...] = Field(alias="values", min_length=1)
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
        if min(self.weights) < 0 or sum(self.weights) <= 0:
            raise ValueError("`weights` must not be negative and not all zero")
        return self

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        options = np.array(self.options)
        return _pick(options, np.ones(len(options)) if self.weights is None else self.weights, u)

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return min(self.options)


class Empirical(_Truncated):
    """Measured numbers, each equally likely: listed as `values`, or a `column` of a CSV `file`."""

    distribution = "empirical"
    file: str | None = Field(None, description="CSV (or .csv.gz) beside the scenario")
    column: str | None = Field(None, description="name of its column")
    per: str | None = Field(None, alias="unit", description="unit of the column's numbers")
    listed: tuple[Parameter, ...] | None = Field(None, alias="values", min_length=1)
    _measured: tuple[float, ...] = PrivateAttr(())

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        context = info.context or {}
        if self.listed is not None:
            if self.file or self.column or self.per:
                raise ValueError(
                    "expected either `values` or `file`, `column` and `unit`, not both"
                )
            numbers = np.array(self.listed)
        else:
            if self.file is None or self.column is None or self.per is None:
                raise ValueError("expected either `values`, or `file`, `column` and `unit`")
            numbers = read_column(
                context.get("folder"), self.file, self.column, self.per, context["dimension"]
            )
        low = -np.inf if self.min is None else self.min
        high = np.inf if self.max is None else self.max
        numbers = np.sort(numbers[(numbers >= low) & (numbers <= high)])
        if not len(numbers):
            raise ValueError("no value lies between `min` and `max`")
        self._measured = tuple(numbers.tolist())
        return self

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        measured = np.array(self._measured)
        return measured[np.minimum((u * len(measured)).astype(np.int64), len(measured) - 1)]

    def lowest(self) -> float:
        """See `Draw.lowest`."""
        return self._measured[0]


class DataSize(Draw):
    """In proportion to how much data a device holds (FedCore's authors' capabilities).

    ``mean + std * (correlation * z + sqrt(1 - correlation^2) * e)`` with z the device's
    standardised number of training samples (population standard deviation over the devices) and e
    a standard normal number of its own; see algorithms.md, F.1.  `min` and `max` clip here.
    """

    distribution = "data_size"
    mean: Parameter
    std: Parameter
    correlation: float = Field(1.0, ge=-1, le=1, description="of the number with the data size")
    min: Parameter | None = Field(None, description="clip below")
    max: Parameter | None = Field(None, description="clip above")

    def values(self, u: Floats, samples: Ids) -> Floats:
        """See `Draw.values`."""
        from scipy.special import ndtri

        sizes = np.asarray(samples, dtype=np.float64)
        spread = sizes.std()
        z = (sizes - sizes.mean()) / spread if spread > 0 else np.zeros(len(sizes))
        if abs(self.correlation) < 1:
            z = self.correlation * z + np.sqrt(1 - self.correlation**2) * ndtri(u)
        else:
            z = self.correlation * z
        low = -np.inf if self.min is None else self.min
        high = np.inf if self.max is None else self.max
        values: Floats = np.clip(self.mean + self.std * z, low, high)
        if values.min(initial=np.inf) < 0 or (self._dimension.positive and not values.all()):
            raise InputError(
                f"a data_size distribution gives {values.min():.4g} {self.unit} to a device with "
                f"{int(sizes[values.argmin()])} samples; give it a `min`"
            )
        return values

    def lowest(self) -> float:
        """See `Draw.lowest`; what the sizes allow is only known once there are data."""
        return np.finfo(float).tiny


def _pick(values: Floats, weights: Any, u: Floats) -> Floats:
    """Return for each uniform the value whose share of the weights it falls in."""
    edges = np.cumsum(np.asarray(weights, dtype=np.float64))
    places = np.searchsorted(edges, u * edges[-1], side="right")
    return np.asarray(values[np.minimum(places, len(values) - 1)])


DISTRIBUTIONS: dict[str, type[Draw]] = {
    draw.distribution: draw
    for draw in (
        Constant, Normal, Lognormal, Uniform, Exponential, Zipf, Choice, Empirical, DataSize,
    )
}  # fmt: skip
