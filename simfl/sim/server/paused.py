"""Devices at work that are away: their work waits until they are back."""

from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np

from simfl.sim.errand import Errand
from simfl.sim.fleet import DeviceGroup


class Paused:
    """How many devices of a group without batteries are away while their work waits for them.

    An instant costs as much as devices have begun, come or gone since the last one, however many
    are at work.

    Args:
        group: the devices.
    """

    def __init__(self, group: DeviceGroup) -> None:
        self._group = group
        self._at_work: dict[int, Errand] = {}
        self._away: set[int] = set()
        self._begun: dict[int, None] = {}  # since the last instant
        # Until when it is known, of each device that was looked at, whether it is there.
        self._known: list[tuple[float, int]] = []
        self._in_queue: set[int] = set()

    def start(self, errand: Errand) -> None:
        """Record that a device, which is at no other work, is at work from now on."""
        device = errand.device - self._group.first
        self._at_work[device] = errand
        self._begun[device] = None

    def end(self, errand: Errand) -> None:
        """Record that a device is no longer at work.  Who is away ends when it is called off."""
        device = errand.device - self._group.first
        del self._at_work[device]
        self._away.discard(device)
        self._begun.pop(device, None)

    def count(self, look_s: float) -> int:
        """Return how many are away at an instant, which is not before the last one."""
        changed, self._begun = self._begun, {}
        while self._known and self._known[0][0] <= look_s:
            _, device = heappop(self._known)
            self._in_queue.remove(device)
            if device in self._at_work:
                changed[device] = None
        if changed:
            self._look(changed, look_s)
        return len(self._away)

    def _look(self, devices: Iterable[int], look_s: float) -> None:
        """See which of `devices` are there; who is through needs not be."""
        schedule, busy = self._group.schedule, []
        for device in devices:
            if self._at_work[device].over_s > look_s:
                busy.append(device)
            else:
                self._away.discard(device)
        there = schedule.online(np.array(busy, np.int64), look_s).tolist() if busy else ()
        for device, is_there in zip(busy, there, strict=True):
            if is_there:
                self._away.discard(device)
            else:
                self._away.add(device)
            if device not in self._in_queue:
                self._in_queue.add(device)
                heappush(self._known, (schedule.next_change_s(device, look_s), device))
