"""A learning rate that begins small (Goyal et al., 2017, arXiv:1706.02677, section 2.2)."""

from typing import Annotated

from pydantic import Field
from typing_extensions import override

from simfl.components.schedules.base import Schedule, schedules


@schedules.register("warm_up")
class WarmUp(Schedule):
    """Grows in equal steps from ``start`` to 1 in ``rounds`` rounds; then another schedule begins.

    That one counts its rounds from there: its first round is the first at the full rate.
    """

    rounds: int = Field(ge=1, description="rounds below the full rate", examples=[5])
    start: float = Field(0.1, ge=0, lt=1, description="share of the rate in the first round")
    then: Annotated[Schedule, schedules] = Field(
        "constant", validate_default=True, description="the schedule after the warm-up"
    )

    @property
    @override
    def by_epoch(self) -> bool:
        return self.then.by_epoch

    @override
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        if round_ > self.rounds:
            return self.then.multiplier(round_ - self.rounds, epoch, epochs)
        return self.start + (1 - self.start) * (round_ - 1) / self.rounds
