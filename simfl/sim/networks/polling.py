"""Devices that ask for work now and then, and servers that look now and then for updates.

As with Flower's gRPC SuperNodes: who has sent an update asks at once, and then every interval; the
server looks every interval since it had looked, or gave orders while no update waited.  A look that
finds an update on its way, whose first byte has come, waits for it, and asks for it again and again
as Flower's does (`PULL_INITIAL_BACKOFF`, `PULL_BACKOFF_CAP`); nothing that it has found counts
before all has come.  Edge servers look each for itself, and for the updates of their own clients.
"""

import math
from collections.abc import Callable, Generator, Sequence

import simpy
from typing_extensions import override

from simfl.core.types import Floats, Ids
from simfl.sim.networks.base import Direction, Links, Transfer
from simfl.sim.timeline import AFTER, Timeline

_GOLDEN = (math.sqrt(5) - 1) / 2
_AGAIN_S, _AGAIN_CAP_S = 1.0, 10.0
"""After so long a look asks again for an update on its way, and after twice that each time more."""


class PolledLinks(Links):
    """Links behind which nobody is told of anything: it is asked for.

    Devices that have sent nothing yet ask at instants spread evenly over the interval.  What is
    planned with is the time without waiting, for when somebody asks is not known beforehand.

    Args:
        timeline: the clock.
        links: what carries the bytes.
        every_s: the interval.
        latency_s: `(n,)` of the devices: before the first byte.
    """

    def __init__(self, timeline: Timeline, links: Links, every_s: float, latency_s: Floats) -> None:
        self._timeline, self._links, self._every_s = timeline, links, every_s
        self._latency_s = latency_s
        self._asked_s: dict[int, float] = {}
        self._server_of: dict[int, int] = {}
        self._servers: dict[int, _Server] = {}

    @property
    @override
    def steady(self) -> bool:
        return self._links.steady

    @override
    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        return None

    @override
    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        return self._links.expected_s(device, direction, size)

    @override
    def all_expected_s(self, devices: int, direction: Direction, size: int) -> Floats:
        return self._links.all_expected_s(devices, direction, size)

    @override
    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        if direction == "down":
            return _Download(self._timeline, self, device, size)
        upload = _Upload(self._timeline, self, device, size)
        first_s = self._timeline.now + float(self._latency_s[device])
        server = self._server(device)
        self._timeline.at(first_s).callbacks.append(lambda _: server.announce(upload))
        return upload

    def begin(self, device: int, direction: Direction, size: int) -> Transfer:
        """Start to move the bytes, now that somebody has asked."""
        return self._links.transfer(device, direction, size)

    @override
    def separate(self, devices: Sequence[Ids]) -> None:
        self._server_of = {
            device: server for server, its in enumerate(devices) for device in its.tolist()
        }

    @override
    def order(self, device: int) -> None:
        self._server(device).order()

    def ask_s(self, device: int) -> float:
        """Return when `device` next asks for what there is for it."""
        asked_s = self._asked_s.get(device, self.first_s(device))
        return _next_s(self._timeline, asked_s, self._every_s)

    def first_s(self, device: int) -> float:
        """Return an instant at which `device` asks that has sent nothing yet."""
        return device * _GOLDEN % 1 * self._every_s

    def sent(self, device: int) -> None:
        """Let `device`, whose update has arrived, ask for work from now on."""
        self._asked_s[device] = self._timeline.now

    def _server(self, device: int) -> "_Server":
        server = self._server_of.get(device, -1)
        if server not in self._servers:
            self._servers[server] = _Server(self._timeline, self._every_s)
        return self._servers[server]


class _Server:
    """Looks for updates."""

    def __init__(self, timeline: Timeline, every_s: float) -> None:
        self._timeline, self._every_s = timeline, every_s
        self._look_s = 0.0
        self._coming: list[_Upload] = []
        self._looking = False

    def order(self) -> None:
        """Take note that it gives an order now."""
        if not any(upload.wanted for upload in self._coming):  # for which it looks as it would have
            self._look_s = self._timeline.now
            self._coming.clear()  # who are called off before any look would be ever more

    def announce(self, upload: "_Upload") -> None:
        """Let it look for `upload`, whose first byte has come."""
        self._coming.append(upload)
        if not self._looking:
            self._looking = True
            self._timeline.process(self._looks())

    def _looks(self) -> Generator[simpy.Event, None, None]:
        """Look until nothing is left to be found."""
        timeline = self._timeline
        while self._coming:
            yield timeline.at(self._next_s(), AFTER)  # sees what lands then
            if self._next_s() > timeline.now:  # orders were given meanwhile
                continue
            found, self._coming = self._coming, []
            for upload in found:
                again_s = _AGAIN_S
                while upload.under_way:
                    yield timeline.at(timeline.now + again_s, AFTER)
                    again_s = min(2 * again_s, _AGAIN_CAP_S)
            self._look_s = timeline.now + self._every_s
            for upload in found:
                upload.count()
        self._looking = False

    def _next_s(self) -> float:
        return _next_s(self._timeline, self._look_s, self._every_s)


def _next_s(timeline: Timeline, once_s: float, every_s: float) -> float:
    """Return the next instant, now at the earliest, that is whole intervals after `once_s`."""
    turns = math.ceil((timeline.now - once_s) / every_s - 1e-9)
    return once_s + max(turns, 0) * every_s


class _Polled(Transfer):
    """Bytes that wait to be asked for, or, once they have come, to be looked for."""

    waits = True

    def __init__(self, timeline: Timeline, links: PolledLinks, device: int, size: int) -> None:
        super().__init__(timeline)
        self._links, self._device, self._size = links, device, size
        self._moving: Transfer | None = None
        self._here = self._aborted = False

    @property
    @override
    def moves(self) -> bool:
        return self._moving is not None and not self._here

    @property
    @override
    def landed(self) -> bool:
        return self._here

    def _begin(self, direction: Direction, landed: Callable[[simpy.Event], None]) -> None:
        if not self._aborted:
            self._moving = self._links.begin(self._device, direction, self._size)
            self._moving.callbacks.append(landed)
            self.on_move(True)

    def count(self) -> None:
        """Tell who waits for it, unless it was called off."""
        if not self._aborted:
            self.succeed()

    @override
    def abort(self) -> int:
        self._aborted = True
        if self._here:
            return self._size
        return 0 if self._moving is None else self._moving.abort()


class _Download(_Polled):
    def __init__(self, timeline: Timeline, links: PolledLinks, device: int, size: int) -> None:
        super().__init__(timeline, links, device, size)
        asks = timeline.at(links.ask_s(device))
        asks.callbacks.append(lambda _: self._begin("down", lambda _: self.count()))


class _Upload(_Polled):
    def __init__(self, timeline: Timeline, links: PolledLinks, device: int, size: int) -> None:
        super().__init__(timeline, links, device, size)
        self._begin("up", self._landed)

    @property
    def wanted(self) -> bool:
        """Whether somebody still waits for it."""
        return not self._aborted

    @property
    def under_way(self) -> bool:
        """Whether it is still to come."""
        return not (self._here or self._aborted)

    def _landed(self, _: simpy.Event) -> None:
        if not self._aborted:
            self._here = True
            self._links.sent(self._device)
            self.on_move(False)
