"""A learning rate that falls a little every round, or every local epoch."""

from typing import Literal

from pydantic import Field
from typing_extensions import override

from simfl.components.schedules.base import Schedule, schedules


@schedules.register("exponential")
class Exponential(Schedule):
    """``decay`` to the number of rounds done, or of local epochs done in all of them."""

    decay: float = Field(
        gt=0, description="what the rate is multiplied by each time", examples=[0.99]
    )
    per: Literal["round", "epoch"] = Field("round", description="when")

    @override
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        done = round_ - 1
        return float(self.decay ** (done if self.per == "round" else done * epochs + epoch))
