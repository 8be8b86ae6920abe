"""A device's battery, as scenarios write it."""

from functools import partial
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from simfl.components.availability.base import Availability, availabilities
from simfl.core.units import Percent, Power
from simfl.core.units.share_range import ShareRange, refuse_distribution
from simfl.scenario.parts.device_number import CapacityDraw
from simfl.scenario.parts.part import Part


class Spread(ShareRange, Part):
    """A share that differs from device to device: every one between two is equally likely."""


class Battery(Part):
    """What limits work away from the mains: it drains at the power of each phase, and charges."""

    capacity: CapacityDraw = Field(description="when full")
    charge: Power = Field(10.0, description="power of the charger while plugged in")
    plugged: Annotated[Availability, availabilities] | None = Field(
        None, description="when the charger is plugged in, as `availability`; omitted: never"
    )
    only_plugged: bool = Field(
        False,
        description="whether devices are offline while the charger is not plugged in, as where "
        "training requires charging",
    )
    start: Annotated[
        Percent | Spread, BeforeValidator(partial(refuse_distribution, "a charge at the start"))
    ] = Field(1.0, description="charge at the start, or {min, max}")
    minimum: Percent = Field(
        0.2, gt=0, lt=1, description="below this, a device neither takes new work nor resumes any"
    )

    @model_validator(mode="after")
    def _is_plugged(self) -> Self:
        if self.only_plugged and self.plugged is None:
            raise ValueError("only_plugged needs `plugged`: when chargers are plugged in")
        return self

    @staticmethod
    def address(group: str) -> str:
        """Return the name that a charger's draws go by, in a `group` of that name."""
        return f"{group}/battery"


def _capacity(value: Any) -> Any:
    """Let a battery be written as its capacity alone."""
    if isinstance(value, Battery) or value is None:
        return value
    return value if isinstance(value, dict) and "distribution" not in value else {"capacity": value}


BatteryField = Annotated[Battery | None, BeforeValidator(_capacity)]
