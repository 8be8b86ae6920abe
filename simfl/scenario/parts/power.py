"""What a device draws, in watts."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from simfl.core.units import Power
from simfl.scenario.parts.part import WORKED_OUT, Part

LikeIdle = Annotated[Power, WORKED_OUT]
"""A power that is `idle`'s where it is not given."""


class PowerDraw(Part):
    """Electrical power of a device in each phase."""

    idle: Power = Field(0.0, description="while online and not at work, including waiting")
    download: LikeIdle = Field(0.0, description="while it receives; omitted: as `idle`")
    compute: LikeIdle = Field(0.0, description="while it trains; omitted: as `idle`")
    upload: LikeIdle = Field(0.0, description="while it sends; omitted: as `idle`")

    @model_validator(mode="before")
    @classmethod
    def _as_idle(cls, value: Any) -> Any:
        """Let phases that are not given draw what the device draws anyway."""
        if not isinstance(value, dict) or "idle" not in value:
            return value
        return {**dict.fromkeys(("download", "compute", "upload"), value["idle"]), **value}

    @property
    def at_work(self) -> bool:
        """Whether work takes any."""
        return max(self.download, self.compute, self.upload) > 0
