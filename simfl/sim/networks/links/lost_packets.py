"""What a connection waits for that overruns a queue before its link: TCP halves its window.

Slow start sends two packets for each that the link has moved, so that the queue grows by one for
each: until it is full, and what comes then is lost.  When that is noticed the window has doubled;
it is halved (RFC 5681, 3.1: Reno), grows by a packet each way there and back, and is halved again
once the queue is full (Kurose and Ross, "Computer Networking", on TCP's sawtooth).  A connection
that was idle begins anew, but keeps in mind where its slow start is to end: at the half, or at
three quarters of its last window (RFC 2861; Linux keeps it in mind of a destination, too).

So what a transfer loses depends on those before.  The first one's half is the window that just
overran the queue; it does so in the second one too, which halves the half; and after a few more
alike the window begins at three quarters of what it ends with, and nothing is lost.
"""

import math
from typing import NamedTuple

from simfl.sim.networks.links.slow_start import PACKET, idles_s, waits_s

_KEPT = 0.75


class Connections:
    """The devices' connections, each with the window that its next slow start ends at.

    A transfer that is broken off leaves what it would have left at its end.

    Args:
        window: bytes at first.
        queue: bytes that can wait before each link.
    """

    def __init__(self, window: float, queue: float) -> None:
        self._window, self._queue = window, queue
        self._threshold: dict[int, float] = {}

    def transfer(self, device: int, size: float, bps: float, latency_s: float) -> float:
        """Return for how long the link idles in a transfer that begins now, seconds."""
        waited_s, self._threshold[device] = self._delay(device, size, bps, latency_s)
        return waited_s

    def expected_s(self, device: int, size: float, bps: float, latency_s: float) -> float:
        """Return for how long it would."""
        return self._delay(device, size, bps, latency_s).waits_s

    def _delay(self, device: int, size: float, bps: float, latency_s: float) -> "Delay":
        threshold = self._threshold.get(device, math.inf)
        return delay(size, bps, latency_s, self._window, self._queue, threshold)


class Delay(NamedTuple):
    """What a transfer waits, and what the next one begins with.

    Attributes:
        waits_s: for how long the link idles, seconds.
        threshold: the window that the next slow start ends at, bytes (inf: at losses only).
    """

    waits_s: float
    threshold: float


def delay(
    size: float, bps: float, latency_s: float, window: float, queue: float, threshold: float
) -> Delay:
    """Return how long the link idles in a transfer; lost packets come again at once.

    Args:
        size: bytes.
        bps: at which the link moves them (inf: unlimited).
        latency_s: one-way; half of what an answer takes.
        window: bytes at first.
        queue: bytes that can wait before the link (inf: any number).
        threshold: the window that slow start ends at, bytes (inf: at losses only).
    """
    link = bps * 2 * latency_s / 8  # bytes under way that fill it
    if not 0 < link < math.inf or queue == math.inf:
        return Delay(waits_s(size, bps, latency_s, window), threshold)
    waited_s, left, end, half = 0.0, size, threshold, math.inf
    while window < end and window < left:
        most = min(window, link) + queue + PACKET  # of a window, as the queue is full; one moves
        grown = min(2 * window, threshold)
        if half == math.inf and grown >= most and left > 2 * most - window:
            end, half = most, min(2 * most, threshold) / 2
        waited_s += idles_s(window, bps, latency_s)
        left, window = left - window, grown
    threshold = min(threshold, half)
    if window < end:
        return Delay(waited_s, threshold)
    if half < end and window < left:  # what moves before the loss is noticed
        waited_s, left = waited_s + idles_s(window, bps, latency_s), left - window
    turns, threshold = _sawtooth(left, threshold, link, link + queue)
    return Delay(waited_s + 2 * latency_s * turns, threshold)


def _sawtooth(size: float, start: float, link: float, most: float) -> tuple[float, float]:
    """Return for how many ways there and back the link idles, and the next threshold.

    Args:
        size: bytes that are left.
        start: bytes of the window by now.
        link: bytes under way that fill the link.
        most: bytes that fill it and its queue.
    """
    if start > most:  # the half overruns the queue, too; each is noticed and mended a way later
        start, size = most / 2, max(size - 4 * most, 0.0)
    climb, turns = _Climb(start, link, most), 0.0
    if size > climb.size:
        turns, size = climb.turns(climb.size), size - climb.size
        climb = _Climb(most / 2, link, most)
        times, size = divmod(size, climb.size)
        turns += times * climb.turns(climb.size)
    return turns + climb.turns(size), max(climb.start, _KEPT * climb.window(size))


class _Climb:
    """A window that grows by a packet each way there and back until the queue is full.

    Attributes:
        start: bytes of it at first.
        size: bytes that have moved when it is.
    """

    def __init__(self, start: float, link: float, most: float) -> None:
        self.start, self._link = start, link
        self.size, self._slow = self._moved(most), self._moved(link)

    def _moved(self, window: float) -> float:
        return max(window**2 - self.start**2, 0.0) / (2 * PACKET)

    def window(self, size: float) -> float:
        """Return the window when so many bytes have moved."""
        return math.sqrt(self.start**2 + 2 * PACKET * size)

    def turns(self, size: float) -> float:
        """Return for how many ways there and back the link has idled by then."""
        slow = min(size, self._slow)
        return (self.window(slow) - self.start) / PACKET - slow / self._link
