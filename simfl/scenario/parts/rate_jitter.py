"""Rates that vary from time to time."""

from pydantic import Field

from simfl.scenario.parts.part import Part


class RateJitter(Part):
    """How a device's rates differ from time to time: by a log-normal factor."""

    sigma: float = Field(
        gt=0, le=5, description="standard deviation of the factor's logarithm; its median is 1"
    )
