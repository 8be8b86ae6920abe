"""Schedules made of spells: what all availability models but `always` share."""

from abc import ABC, abstractmethod

import numpy as np
from typing_extensions import override

from simfl.components.availability.base import OnlineSchedule
from simfl.core.types import Flags, Floats, Ids

Instants = float | Floats
"""One for all devices, or `(m,)` one for each."""

_AT_ONCE = 1 << 16  # devices computed at a time, which bounds the memory of a question to all

_WORTH = 1000
"""Devices that take as long to compute as a question about a few."""

_LISTED = 4000
"""Spells of a device, at most, of all of which somebody may be told."""

_CHECKED = tuple(_LISTED >> halved for halved in range(1, 5))
"""After so many of a device it is looked how far they reach: a sixteenth of them to a 256th of the
time, half of them to a quarter, or there would be too many."""

_SCANNED = 50
"""Devices that are looked through for what is over while one is computed."""


class Spells(OnlineSchedule, ABC):
    """A schedule that computes a device's current spell when asked, and keeps it until it is over.

    A spell depends on nothing but the device and the instant, so questions may come in any order
    and about any devices.  Of devices that nobody asks about not even memory is used (the pages of
    `numpy.zeros` are claimed when first written), until there have been so many questions that to
    know all devices would have cost no more.  An array that can't be written, asked about again
    and again, is answered from memory while none of its devices changes.
    """

    def __init__(self, devices: int) -> None:
        self._since = np.zeros(devices)
        self._until = np.zeros(devices)
        self._is_on = np.zeros(devices, dtype=np.bool_)
        # In devices computed: what was spent on answers since all were known, and what may be.
        self._spent, self._worth_all = 0, devices
        # The last answer about devices that stay the same ones, and while it holds.
        self._watched, self._online = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        self._watched_s = self._unchanged_s = 0.0

    @abstractmethod
    def spells(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        """Return `(m,)` whether each is online at `now_s` and `(m,)` until when that lasts."""

    def sessions(self, devices: Ids, until_s: float) -> tuple[Floats, Floats] | None:
        """Return when all sessions of `devices` begin and end, from 0 to `until_s`, in no order.

        `(s,)` each, those at 0 and at `until_s` included; None if some device has too many to list,
        or by its first ones seems to have many times as many.
        """
        now_s, starts, ends = np.zeros(len(devices)), [np.zeros(0)], [np.zeros(0)]
        for listed in range(_LISTED):
            if listed in _CHECKED and now_s.min() < until_s * (listed / _LISTED) ** 2:
                return None
            is_on, until = self.spells(devices, now_s)
            until = np.minimum(until, until_s)
            starts.append(now_s[is_on])
            ends.append(until[is_on])
            devices, now_s = devices[until < until_s], until[until < until_s]
            if not len(devices):
                return np.concatenate(starts), np.concatenate(ends)
        return None

    @override
    def online(self, devices: Ids, now_s: float) -> Flags:
        if devices is self._watched and self._watched_s <= now_s < self._unchanged_s:
            return self._online
        self._look(devices, now_s)
        online = self._is_on[devices]
        if not devices.flags.writeable and len(devices):
            self._watched, self._watched_s, self._online = devices, now_s, online
            self._unchanged_s = float(self._until[devices].min())
            online.flags.writeable = False
        return online

    @override
    def next_change_s(self, device: int, now_s: float) -> float:
        if not self._since[device] <= now_s < self._until[device]:
            self._look(np.array([device]), now_s)
        return float(self._until[device])

    @override
    def next_online_s(self, now_s: float) -> float:
        """O(n) if nobody is online, else mostly O(1)."""
        first = np.inf
        for low in range(0, len(self._until), _AT_ONCE):
            part = np.arange(low, min(low + _AT_ONCE, len(self._until)))
            if self.online(part, now_s).any():
                return now_s
            first = min(first, float(self._until[part].min()))
        return first

    def _look(self, devices: Ids, now_s: float) -> None:
        known = self._known(devices, now_s)
        if np.count_nonzero(known) == len(known):
            return
        asked = devices[~known]
        self._spent += _WORTH + len(asked)
        if self._spent >= self._worth_all:
            asked = np.flatnonzero(~self._known(slice(None), now_s))
            self._spent, self._worth_all = 0, len(asked) + len(self._until) // _SCANNED
        for low in range(0, len(asked), _AT_ONCE):
            part = asked[low : low + _AT_ONCE]
            self._is_on[part], self._until[part] = self.spells(part, now_s)
            self._since[part] = now_s

    def _known(self, devices: Ids | slice, now_s: float) -> Flags:
        known: Flags = self._since[devices] <= now_s
        return known & (now_s < self._until[devices])


def spells_of(schedule: OnlineSchedule, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
    """Return `(m,)` whether each is online at its instant, and `(m,)` until when that lasts."""
    if isinstance(schedule, Spells):
        return schedule.spells(devices, now_s)
    asked = list(zip(devices.tolist(), np.broadcast_to(now_s, len(devices)).tolist(), strict=True))
    on = [bool(schedule.online(np.array([device]), at_s)[0]) for device, at_s in asked]
    until = [schedule.next_change_s(device, at_s) for device, at_s in asked]
    return np.array(on, dtype=np.bool_), np.array(until, dtype=np.float64)


def cell(now_s: Instants, origin_s: Floats, width_s: float) -> Ids:
    """Return `(m,)` the k with ``origin + k * width <= now < origin + (k + 1) * width``, exactly.

    Division alone may miss by one where `now` is the very start of a cell.
    """
    k = np.floor((now_s - origin_s) / width_s).astype(np.int64)
    k += origin_s + (k + 1) * width_s <= now_s
    k -= origin_s + k * width_s > now_s
    return k
