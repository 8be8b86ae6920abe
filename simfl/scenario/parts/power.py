"""What a device draws, in watts."""

from typing import Any

from pydantic import Field, model_validator

from simfl.core.units import Power
from simfl.scenario.parts.part import Part


class PowerDraw(Part):
    """Electrical power of a device in each phase."""

    idle: Power = Field(0.0, description="while online and not at work, including waiting")
    download: Power = Field(0.0, description="while it receives; default: that of `idle`")
    compute: Power = Field(0.0, description="while it trains; default: that of `idle`")
    upload: Power = Field(0.0, description="while it sends; default: that of `idle`")

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
