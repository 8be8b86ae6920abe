"""Schedules and links of users' own components, asked on watch: faults are told as theirs.

simfl's own are held to their contracts by tests, and go without.
"""

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule
from simfl.core.blame import blaming
from simfl.core.ownership import users_own
from simfl.core.returned import expect
from simfl.core.types import Flags, Ids
from simfl.sim.networks.base import Direction, Links, Network, Transfer

_NUMBERS = (int, float, np.integer, np.floating)


def guarded_schedule(availability: Availability, schedule: OnlineSchedule) -> OnlineSchedule:
    """Return `schedule`, watched if its `availability` is a user's own."""
    return _Schedule(availability, schedule) if users_own([availability]) else schedule


def guarded_links(network: Network, links: Links) -> Links:
    """Return `links`, watched if their `network` is a user's own."""
    return _Links(network, links) if users_own([network]) else links


class _Schedule(OnlineSchedule):
    def __init__(self, owner: Availability, schedule: OnlineSchedule) -> None:
        self._owner, self._schedule = owner, schedule

    @override
    def online(self, devices: Ids, now_s: float) -> Flags:
        with blaming(self._owner, lambda: f"telling who is online at {now_s:g} s"):
            online = self._schedule.online(devices, now_s)
            sound = isinstance(online, np.ndarray) and online.dtype == np.bool_
            expect(
                sound and online.shape == devices.shape, f"{len(devices)} times yes or no", online
            )
        return online

    @override
    def next_change_s(self, device: int, now_s: float) -> float:
        with blaming(self._owner, lambda: f"telling when device {device} changes next"):
            change_s = self._schedule.next_change_s(device, now_s)
            expect(
                isinstance(change_s, _NUMBERS) and change_s > now_s,
                f"an instant after {now_s:g} s",
                change_s,
            )
            if change_s < math.inf:
                self._expect_change(device, now_s, float(change_s))
        return float(change_s)

    def _expect_change(self, device: int, now_s: float, change_s: float) -> None:
        """Expect another state at `change_s`: who is at work then is taken for gone."""
        only = np.array([device], dtype=np.int64)
        there, then = (bool(self.online(only, at_s)[0]) for at_s in (now_s, change_s))
        state = "online" if then else "offline"
        expect(
            there != then,
            f"the first instant after {now_s:g} s at which it is {'off' if there else 'on'}line",
            f"{change_s:.10g} s, when it is still {state}",
        )

    @override
    def next_online_s(self, now_s: float) -> float:
        with blaming(self._owner, "telling when somebody is online next"):
            online_s = self._schedule.next_online_s(now_s)
            expect(
                isinstance(online_s, _NUMBERS) and online_s >= now_s,
                f"no instant before {now_s:g} s",
                online_s,
            )
        return float(online_s)


class _Links(Links):
    def __init__(self, owner: Network, links: Links) -> None:
        self._owner, self._links = owner, links

    @override
    def separate(self, devices: Sequence[Ids]) -> None:
        with blaming(self._owner, "taking note of edge servers"):
            self._links.separate(devices)

    @override
    def order(self, device: int) -> None:
        with blaming(self._owner, lambda: f"taking note of an order to device {device}"):
            self._links.order(device)

    @override
    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        with blaming(self._owner, lambda: f"telling how long device {device} moves {size} B"):
            lasts_s = self._links.duration_s(device, direction, size)
            if lasts_s is not None:
                expect(0 <= lasts_s < math.inf, "None, or seconds from 0 on", lasts_s)
        return lasts_s

    @override
    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        with blaming(self._owner, lambda: f"telling how long device {device} moves {size} B"):
            lasts_s = self._links.expected_s(device, direction, size)
            expect(lasts_s >= 0, "seconds from 0 on", lasts_s)
        return lasts_s

    @override
    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        with blaming(self._owner, lambda: f"moving {size} B of device {device}"):
            transfer = self._links.transfer(device, direction, size)
            expect(isinstance(transfer, Transfer), "a transfer", transfer)
        return transfer
