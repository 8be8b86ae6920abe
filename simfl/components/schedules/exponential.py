"""A learning rate that falls a little every round, or every local epoch."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field
from typing_extensions import override

from simfl.components.schedules.base import Schedule, power, schedules
from simfl.core.circumstances import Circumstances


@schedules.register("exponential")
class Exponential(Schedule):
    """``decay`` to the number of rounds done, or of local epochs done in all of them."""

    decay: float = Field(gt=0, description="factor of the rate each time", examples=[0.99])
    per: Literal["round", "epoch"] = Field("round", description="when")

    @property
    @override
    def by_epoch(self) -> bool:
        return self.per == "epoch"

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.by_epoch and circumstances.steps is not None:
            yield f"lr_schedule {self.name!r} per epoch needs `epochs`, not `steps`"

    @override
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        done = round_ - 1
        return power(self.decay, done if self.per == "round" else done * epochs + epoch)
