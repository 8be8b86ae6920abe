"""Deadlines of a round: none, a duration, or the one that makes a share of the fleet stragglers."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from simfl.core.named_options import nested
from simfl.core.types import Floats
from simfl.core.units import DURATION, Duration, Percent, Quantity, format_quantity
from simfl.core.units.dimensions import SHORTEST_S
from simfl.errors import InputError, UnitError


class Stragglers(BaseModel):
    """The share of the fleet that can't finish the full workload in time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stragglers: Percent


_DURATION = Quantity(DURATION)


def _parse_length(value: Any, otherwise: str = "or {stragglers: 30%}") -> Stragglers | float:
    """Return a length; an error about the duration goes on with other forms, `otherwise`."""
    if isinstance(value, Stragglers):
        return value
    if isinstance(value, Mapping):
        try:
            return Stragglers.model_validate(value)
        except ValidationError as error:
            raise nested("wrong options", Stragglers, error) from None
    try:
        duration = _DURATION.parse(value)
    except UnitError as error:
        raise InputError(f"{error}; {otherwise}") from None
    if duration < SHORTEST_S:
        raise InputError(f"must be at least {format_quantity(SHORTEST_S, DURATION)}, got {value!r}")
    return duration


def _parse(value: Any) -> Stragglers | float | None:
    if value is None or value == "none":
        return None
    return _parse_length(value, "or none, or {stragglers: 30%}")


def _dump(value: Stragglers | float | None) -> Any:
    if value is None:
        return "none"
    if isinstance(value, Stragglers):
        return value.model_dump(mode="json")
    return _DURATION.dump(value)


_LENGTH_SCHEMA = [TypeAdapter(part).json_schema() for part in (Duration, Stragglers)]

Length = Annotated[
    Stragglers | float,
    PlainValidator(_parse_length),
    PlainSerializer(_dump),
    WithJsonSchema({"anyOf": _LENGTH_SCHEMA}),
]
"""A duration in seconds, or what stands for one: written ``30 s`` or ``{stragglers: 30%}``."""
Deadline = Annotated[
    Stragglers | float | None,
    PlainValidator(_parse),
    PlainSerializer(_dump),
    WithJsonSchema({"anyOf": [{"const": "none"}, *_LENGTH_SCHEMA]}),
]
"""A `Length`, or none."""


def percentile(values: Floats, share: float) -> float:
    """Return the `share`-quantile of `values` `(n,)` by linear interpolation.

    Where the quantile is one of the values it is that very float (in `numpy.percentile` rounding
    may put it one ulp beside), so that who takes exactly that long ties with it.
    """
    ordered, rank = np.sort(values), share * (len(values) - 1)
    if abs(rank - round(rank)) < 1e-9:
        return float(ordered[round(rank)])
    low, high = ordered[int(rank)], ordered[int(rank) + 1]
    return float(min(low + (high - low) * (rank - int(rank)), high))
