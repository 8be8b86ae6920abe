"""The contract of every learning-rate schedule, as a test suite: see `simfl.testing.contract`."""

from collections.abc import Callable
from math import isfinite

from hypothesis import given
from hypothesis import strategies as st

from simfl.components.schedules.base import Schedule
from simfl.testing.contract import RELAXED, ComponentContract


class ScheduleContract(ComponentContract):
    """What holds for every schedule; inherit and set `create`."""

    create: Callable[..., Schedule]

    @RELAXED
    @given(round_=st.integers(1, 10**6), epochs=st.integers(1, 50), data=st.data())
    def test_a_finite_multiplier_at_least_0(
        self, round_: int, epochs: int, data: st.DataObject
    ) -> None:
        """In every round and local epoch, asked in any order: it remembers nothing."""
        epoch = data.draw(st.integers(0, epochs - 1))
        schedule = self.create()
        multiplier = schedule.multiplier(round_, epoch, epochs)
        assert type(multiplier) is float, f"a {type(multiplier).__name__}"
        assert isfinite(multiplier), f"{multiplier} in round {round_}"
        assert multiplier >= 0, f"{multiplier} in round {round_}"
        schedule.multiplier(1)
        assert schedule.multiplier(round_, epoch, epochs) == multiplier, "it depends on the past"

    def test_the_first_round_trains(self) -> None:
        """Whoever asks without an epoch gets the first one's, which is above 0."""
        assert self.create().multiplier(1) == self.create().multiplier(1, 0, 1) > 0
