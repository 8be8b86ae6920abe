"""What every distribution is, and the two that need no more: one number for all, and truncation."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
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
from typing_extensions import override

from simfl.core.types import Floats, Ids
from simfl.core.units import Dimension, Quantity

ANY_NUMBER: dict[str, None] = {"dimension": None}
"""Validation context of who asks whether options may be such, but not of which number they are."""


def _parse(value: object, info: ValidationInfo) -> float:
    context = info.context or {}
    if context["dimension"] is None:
        return math.nan
    # A standard deviation may be zero even if the number itself may not.
    dimension = replace(context["dimension"], positive=False)
    unlimited = context.get("unlimited", False) and info.field_name in ("value", "options")
    return Quantity(dimension, unlimited=unlimited).parse(value)


def _dump(value: float, info: SerializationInfo) -> str:
    return Quantity((info.context or {})["dimension"]).dump(value)


class OfTheNumber:
    """Marks a quantity of the number that is drawn."""


Parameter = Annotated[
    float,
    OfTheNumber(),
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
        """Base unit of the values, such as ``bit/s``, ``samples/s`` or ``s/sample``."""
        return self._dimension.base

    @abstractmethod
    def values(self, u: Floats, samples: Ids) -> Floats:
        """Return `(n,)` numbers in base units.

        Args:
            u: `(n,)` uniform numbers in (0, 1), one of each device.
            samples: `(n,)` training samples that each device holds.
        """

    def check(self, values: Floats, samples: Ids) -> None:
        """Make sure that devices can have the `values` that were drawn for them.

        Args:
            values: `(m,)` in base units.
            samples: `(m,)` training samples that each of these devices holds.

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
    value: Parameter = Field(description="of every device")

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        return np.full(len(u), self.value)

    @override
    def lowest(self) -> float:
        return self.value


def check_order(low: float | None, high: float | None) -> None:
    """Refuse bounds of which the lower is not below the upper.

    Raises:
        ValueError: they are such.
    """
    if low is not None and high is not None and not low < high:
        raise ValueError("`min` must be below `max`")


def pick(n: int, u: Floats, weights: Floats | Sequence[float] | None = None) -> Ids:
    """Return `(m,)` which of `n` has the share that each uniform falls in (None: equal shares)."""
    if weights is None:
        return np.minimum((u * n).astype(np.int64), n - 1)
    edges = np.cumsum(np.asarray(weights, dtype=np.float64))
    return np.asarray(np.minimum(np.searchsorted(edges, u * edges[-1], side="right"), n - 1))


class Truncated(Draw):
    """A distribution that `min` and `max` truncate."""

    min: Parameter | None = Field(None, description="truncate below")
    max: Parameter | None = Field(None, description="truncate above")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_order(self.min, self.max)
        return self

    @override
    def lowest(self) -> float:
        return self.bounds[0]

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most that there can be (infinite: no bound)."""
        return (
            -np.inf if self.min is None else self.min,
            np.inf if self.max is None else self.max,
        )

    def inside(self, values: Floats) -> Floats:
        """Return `(m,)` values kept from leaving the bounds by rounding."""
        return np.clip(values, *self.bounds)
