"""A share that differs from device to device."""

from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from simfl.core.types import Floats
from simfl.core.units.fields import Percent

Uniform = TypeVar("Uniform", float, Floats)


class ShareRange(BaseModel):
    """A share that differs from device to device: every one between two is equally likely."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    min: Percent = Field(description="smallest")
    max: Percent = Field(description="largest")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.min < self.max:
            raise ValueError("`min` must be below `max`")
        return self

    def at(self, uniform: Uniform) -> Uniform:
        """Return the share of the device that has a `uniform` number in [0, 1], or several."""
        return self.min + (self.max - self.min) * uniform


def refuse_distribution(what: str, value: Any) -> Any:
    """Return what is written for a share, unless it is a distribution.

    Raises:
        ValueError: it is; tells what can be given for `what`.
    """
    if isinstance(value, dict) and "distribution" in value:
        raise ValueError(
            f"{what} has no distribution; give a share such as '30%', or the least and the most, "
            "as in {min: 25%, max: 100%}"
        )
    return value
