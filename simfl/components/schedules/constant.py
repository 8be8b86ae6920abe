"""The learning rate as it is."""

from typing_extensions import override

from simfl.components.schedules.base import Schedule, schedules


@schedules.register("constant")
class Constant(Schedule):
    """The same rate in every round."""

    @override
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        return 1.0
