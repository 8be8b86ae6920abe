"""Every registered availability goes through the contract, which catches faulty ones."""

from pathlib import Path

import numpy as np
import pytest

from simfl.components.availability.base import Availability, availabilities
from simfl.testing.availability import AvailabilityContract
from simfl.testing.contract import suites

TRACE = Path(__file__).parents[2] / "runs" / "golden" / "sessions.csv"
TRAITS = {"trace": {"options": {"file": TRACE.name}, "folder": TRACE.parent}}
globals().update(suites(AvailabilityContract, availabilities, TRAITS))


class Hours(Availability):
    """All devices are online every other hour; each subclass does one thing wrong."""

    def schedule(self, devices, group, seeds, folder):
        return self

    def online(self, devices, now_s):
        return np.full(len(devices), now_s // 3600 % 2 == 1)

    def next_change_s(self, device, now_s):
        return (now_s // 3600 + 1) * 3600

    def next_online_s(self, now_s):
        return now_s if now_s // 3600 % 2 == 1 else self.next_change_s(0, now_s)


class Numbers(Hours):
    def online(self, devices, now_s):
        return super().online(devices, now_s).astype(float)


class ChangesTooOften(Hours):
    def next_change_s(self, device, now_s):
        return (now_s // 1800 + 1) * 1800


class ChangesTooLate(Hours):
    def next_change_s(self, device, now_s):
        return super().next_change_s(device, now_s) + 7200


class ChangesNow(Hours):
    def next_change_s(self, device, now_s):
        return -(-now_s // 3600) * 3600


class OnlineTooLate(Hours):
    def next_online_s(self, now_s):
        return now_s + 7200 if now_s // 3600 % 2 else super().next_online_s(now_s) + 60


class OnlineTooEarly(Hours):
    def next_online_s(self, now_s):
        return now_s


class DrawsForItself(Hours):
    def online(self, devices, now_s):
        return np.random.default_rng().random(len(devices)) < 0.5


class SessionsTooLong(Hours):
    def longest_session_s(self, folder):
        return 3599.0


class TooManyAtOnce(Hours):
    def most_at_once(self, devices, group, seeds, folder):
        return devices - 1


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Numbers, "test_answers_are_as_promised"),
        (ChangesTooOften, "test_states_alternate_and_last_until_the_next_change"),
        (ChangesTooLate, "test_states_alternate_and_last_until_the_next_change"),
        (ChangesNow, "test_states_alternate_and_last_until_the_next_change"),
        (OnlineTooLate, "test_next_online_is_the_first_instant_at_which_somebody_is"),
        (OnlineTooEarly, "test_next_online_is_the_first_instant_at_which_somebody_is"),
        (SessionsTooLong, "test_it_keeps_within_what_it_says"),
        (TooManyAtOnce, "test_it_keeps_within_what_it_says"),
        (DrawsForItself, "test_it_matters_neither_who_asks_nor_how_often"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(AvailabilityContract, test, fault, sound=Hours)
