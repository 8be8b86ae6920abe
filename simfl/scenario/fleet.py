"""The fleet: groups of devices, and how the numbers of one device go together."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from simfl.availability.base import Availability
from simfl.scenario.distributions import Draw
from simfl.scenario.drawn import (
    ComputeDraw,
    DataSizeDraw,
    Drawn,
    DurationDraw,
    EnergyDraw,
    LinkDraw,
)
from simfl.scenario.named import Named
from simfl.scenario.part import Count, Part
from simfl.units import DATA_RATE, DURATION, SAMPLE_RATE, Dimension, Power

_AVAILABILITY = Named("availability", "always")


class PowerDraw(Part):
    """Electrical power of a device in each phase."""

    idle: Power = Field(0.0, description="while online and not at work")
    download: Power = Field(0.0, description="while it receives")
    compute: Power = Field(0.0, description="while it trains")
    upload: Power = Field(0.0, description="while it sends")


class Group(Part):
    """Devices of one kind: each number is the same for all, or drawn for each."""

    name: str = Field("devices", min_length=1, description="unique among the groups")
    count: Count = Field(description="how many devices")
    compute: ComputeDraw = Field(
        default_factory=lambda: constant("100 samples/s", SAMPLE_RATE),
        description="training speed: samples/s, or FLOP/s against the model's own FLOPs",
    )
    downlink: LinkDraw = Field(
        default_factory=lambda: constant("unlimited", DATA_RATE),
        description="rate at which a device receives",
    )
    uplink: LinkDraw = Field(
        default_factory=lambda: constant("unlimited", DATA_RATE),
        description="rate at which a device sends",
    )
    latency: DurationDraw = Field(
        default_factory=lambda: constant("0 s", DURATION),
        description="one-way, before the first byte of each transfer",
    )
    availability: Annotated[Availability, _AVAILABILITY] = Field(
        default_factory=_AVAILABILITY.factory, description="when devices are online"
    )
    on_offline: Literal["abort", "pause", "salvage"] = Field(
        "abort",
        description="work under way when a device leaves: lose it, go on when it is back, or keep "
        "the finished steps and upload those when it is back",
    )
    power: PowerDraw | None = Field(None, description="watts by phase; omitted: not accounted")
    memory: DataSizeDraw | None = Field(None, description="for training; omitted: enough")
    battery: EnergyDraw | None = Field(None, description="when full; omitted: on mains")


def constant(value: str, dimension: Dimension) -> Draw:
    """Return the draw that gives every device `value`."""
    return Drawn(dimension, unlimited=True).parse(value)


def _listed(value: Any) -> Any:
    """Let a fleet of one group be written without a list, and groups without names be numbered."""
    groups = [value] if isinstance(value, dict) else value
    if not isinstance(groups, list) or len(groups) < 2:
        return groups
    return [
        {"name": f"group-{index}", **group} if isinstance(group, dict) else group
        for index, group in enumerate(groups)
    ]


Groups = Annotated[tuple[Group, ...], Field(min_length=1), BeforeValidator(_listed)]
