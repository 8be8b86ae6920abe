"""Every registered learning-rate schedule under the contract, which catches faulty ones."""

from collections.abc import Callable
from itertools import count

import pytest

from simfl.components.schedules.base import Schedule, schedules
from simfl.components.schedules.constant import Constant
from simfl.testing.contract import suites
from simfl.testing.schedules import ScheduleContract

globals().update(suites(ScheduleContract, schedules))
CALLS = count(1)


class Negative(Constant):
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        return 1.0 - round_ / 100


class Explodes(Constant):
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        return float("inf") if round_ > 20 else 1.0


class CountsItsCalls(Constant):
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        return 1.0 / next(CALLS)


class BeginsAtZero(Constant):
    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        return 1.0 - 1.0 / round_


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Negative, "test_a_finite_multiplier_at_least_0"),
        (Explodes, "test_a_finite_multiplier_at_least_0"),
        (CountsItsCalls, "test_a_finite_multiplier_at_least_0"),
        (BeginsAtZero, "test_the_first_round_trains"),
    ],
)
def test_the_contract_catches(
    fault: type[Schedule], test: str, caught: Callable[..., None]
) -> None:
    caught(ScheduleContract, test, fault, sound=Constant)
