"""A learning rate that is cut at milestones, as in ``torch.optim.lr_scheduler.MultiStepLR``."""

from typing import Annotated

from pydantic import Field
from typing_extensions import override

from simfl.components.schedules.base import Schedule, power, schedules


@schedules.register("step")
class Milestones(Schedule):
    """``factor`` to the number of milestones passed."""

    milestones: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        description="numbers of finished rounds at which the rate is cut", examples=[(50, 75)]
    )
    factor: float = Field(0.5, gt=0, description="factor of the rate at each cut")

    @override
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        return power(self.factor, sum(milestone < round_ for milestone in self.milestones))
