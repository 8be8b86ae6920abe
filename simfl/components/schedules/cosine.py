"""Half a cosine (Loshchilov and Hutter, 2017, arXiv:1608.03983, Eq. 5, without restarts)."""

from math import cos, pi

from pydantic import Field
from typing_extensions import override

from simfl.components.schedules.base import Schedule, schedules


@schedules.register("cosine")
class Cosine(Schedule):
    """From 1 down to ``final`` within ``rounds`` rounds, slowly at both ends; then constant."""

    rounds: int = Field(
        ge=1, description="rounds until the rate has fallen to its final value", examples=[100]
    )
    final: float = Field(0.0, ge=0, le=1, description="share of the rate that remains then")

    @override
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        done = min(round_ - 1, self.rounds) / self.rounds
        return self.final + (1 - self.final) * (1 + cos(pi * done)) / 2
