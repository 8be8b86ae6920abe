"""The seam of learning-rate schedules: a round -> what the optimizer's rate is multiplied by."""

import math
from abc import ABC, abstractmethod

from simfl.core.component import Component
from simfl.core.registry import Registry


class Schedule(Component, ABC):
    """How the learning rate changes over the rounds of a run."""

    @property
    def by_epoch(self) -> bool:
        """Whether the rate changes within a round."""
        return False

    @abstractmethod
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        """Return what the rate is multiplied by, at least 0.

        Args:
            round_: the server's round, or model version count, when the client was asked; 1-based.
            epoch: local epoch, 0-based.
            epochs: the scenario's nominal local epochs.
        """


def power(factor: float, times: int) -> float:
    """Return `factor` to the power of `times`, infinite where no number is so large.

    >>> power(0.5, 2), power(1e200, 2)
    (0.25, inf)
    """
    try:
        return float(factor**times)
    except OverflowError:
        return math.inf


schedules: Registry[Schedule] = Registry(
    "learning rate schedule", "simfl.components.schedules", "constant"
)
