"""Devices that ask for work now and then, and a server that looks now and then for updates.

As with Flower's gRPC SuperNodes: who has sent an update asks at once, and then every interval; the
server looks every interval since it last gave orders.
"""

import math

import simpy
from typing_extensions import override

from simfl.sim.networks.base import Direction, Links, Transfer
from simfl.sim.timeline import Timeline

_GOLDEN = (math.sqrt(5) - 1) / 2


class PolledLinks(Links):
    """Links behind which nobody is told of anything: it is asked for.

    Devices that have sent nothing yet ask at instants spread evenly over the interval.  What is
    planned with is the time without waiting, for when somebody asks is not known beforehand.

    Args:
        timeline: the clock.
        links: what carries the bytes.
        every_s: the interval.
    """

    def __init__(self, timeline: Timeline, links: Links, every_s: float) -> None:
        self._timeline, self._links, self._every_s = timeline, links, every_s
        self._asked_s: dict[int, float] = {}
        self._ordered_s = 0.0

    @override
    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        return None

    @override
    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        return self._links.expected_s(device, direction, size)

    @override
    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        return _Polled(self._timeline, self, device, direction, size)

    def begin(self, device: int, direction: Direction, size: int) -> Transfer:
        """Start to move the bytes, now that somebody has asked."""
        return self._links.transfer(device, direction, size)

    def ask_s(self, device: int) -> float:
        """Return when `device` next asks for the order that is given now."""
        self._ordered_s = self._timeline.now
        return self._next_s(self._asked_s.get(device, device * _GOLDEN % 1 * self._every_s))

    def look_s(self, device: int) -> float:
        """Return when the server next looks for what `device` has just sent."""
        self._asked_s[device] = self._timeline.now
        return self._next_s(self._ordered_s)

    def _next_s(self, once_s: float) -> float:
        """Return the next instant, now at the earliest, that is whole intervals from `once_s`."""
        turns = math.ceil((self._timeline.now - once_s) / self._every_s - 1e-9)
        return once_s + turns * self._every_s


class _Polled(Transfer):
    """Bytes that wait to be asked for, or, once they have come, to be looked for."""

    def __init__(
        self, timeline: Timeline, links: PolledLinks, device: int, direction: Direction, size: int
    ) -> None:
        super().__init__(timeline)
        self._timeline, self._links, self._what = timeline, links, (device, direction, size)
        self._moving: Transfer | None = None
        self._aborted = False
        if direction == "down":
            timeline.at(links.ask_s(device)).callbacks.append(self._begin)
        else:
            self._begin()

    def _begin(self, _: simpy.Event | None = None) -> None:
        if not self._aborted:
            self._moving = self._links.begin(*self._what)
            self._moving.callbacks.append(self._landed)

    def _landed(self, _: simpy.Event) -> None:
        device, direction, _size = self._what
        if self._aborted:
            return
        if direction == "down":
            self.succeed()
        else:
            self._timeline.at(self._links.look_s(device)).callbacks.append(self._seen)

    def _seen(self, _: simpy.Event) -> None:
        if not self._aborted:
            self.succeed()

    @override
    def abort(self) -> int:
        self._aborted = True
        return 0 if self._moving is None else self._moving.abort()
