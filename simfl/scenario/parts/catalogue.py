"""The catalogue of device classes: numbers that a fleet's group can take as its defaults."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import Field

from simfl.errors import NameNotFound
from simfl.scenario.parts.part import Part

DEVICES = "devices"
"""What `simfl list` and `simfl describe` call the catalogue."""


class DeviceClass(Part):
    """A class of devices, as the catalogue has it; quantities are text with units."""

    description: str
    compute: str = Field(description="training speed")
    memory: str = Field(description="for training")
    power: dict[str, str] = Field(description="electrical power by phase")
    downlink: str = Field(description="rate at which it receives")
    uplink: str = Field(description="rate at which it sends")
    latency: str = Field(description="one-way, before the first byte of each transfer")
    battery: str | None = Field(
        None, description="capacity, for information; not used as a default"
    )
    source: dict[str, str] = Field(description="where the numbers come from")

    def defaults(self) -> dict[str, Any]:
        """Return what a group of such devices has unless it says otherwise."""
        return self.model_dump(exclude={"description", "battery", "source"})


@cache
def catalogue() -> Mapping[str, DeviceClass]:
    """Return every class of devices by its name."""
    from simfl.scenario.language.yaml import read_yaml

    name = "catalogue.yaml"
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    data, _ = read_yaml(text, name)
    return {name: DeviceClass.model_validate(numbers) for name, numbers in data.items()}


def device_class(name: str) -> DeviceClass:
    """Return the class of devices called `name`.

    Raises:
        NameNotFound: there is none.
    """
    if name not in catalogue():
        raise NameNotFound("device class", name, catalogue())
    return catalogue()[name]
