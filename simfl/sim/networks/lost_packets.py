"""What a connection waits for that overruns a queue before its link: TCP halves its window.

Slow start doubles the window until more is under way than the link and the queue before it hold.
What comes then is lost, and the window is halved (RFC 5681, 3.1: Reno).  A connection that was idle
begins anew but remembers the half (Linux does so of a destination, too): there its slow start ends,
and the window grows by a packet each way there and back.  If half does not fill the link, it idles
for a part of each; and once the queue is full again, the window is halved again (Kurose and Ross,
"Computer Networking", on TCP's sawtooth).
"""

import math

from simfl.sim.networks import slow_start
from simfl.sim.networks.slow_start import PACKET, idles_s


def waits_s(size: float, bps: float, latency_s: float, window: float, queue: float) -> float:
    """Return how long the link idles in a transfer, if one like it was there before, seconds.

    Lost packets come again at once; nothing times out, and no window is halved twice.

    Args:
        size: bytes.
        bps: at which the link moves them (inf: unlimited).
        latency_s: one-way; half of what an answer takes.
        window: bytes at first.
        queue: bytes that can wait before the link (inf: any number).
    """
    link = bps * 2 * latency_s / 8  # bytes under way that fill the link
    half = (link + queue) / 2
    if half >= link or not _overruns(size, window, 2 * half):
        return slow_start.waits_s(size, bps, latency_s, window)
    waited_s, left = 0.0, size
    while window < half:
        waited_s += idles_s(window, bps, latency_s)
        left, window = left - window, 2 * window
    climb = _Climb(half)
    turns = (link - half) / PACKET  # ways there and back until the link is full again
    slow, full = climb.moved(turns), _Climb(link).moved(queue / PACKET)
    times, rest = divmod(left, slow + full)
    last = min(rest, slow)
    return waited_s + 2 * latency_s * (
        times * (turns - slow / link) + climb.turns(last) - last / link
    )


def _overruns(size: float, window: float, most: float) -> bool:
    """Return whether slow start alone has more than `most` bytes under way before the end."""
    while window <= most and size > 0:
        size, window = size - window, 2 * window
    return size > most


class _Climb:
    """A window, bytes, that grows by a packet each way there and back."""

    def __init__(self, window: float) -> None:
        self.window = window

    def moved(self, turns: float) -> float:
        """Return the bytes that have moved in so many ways there and back."""
        return self.window * turns + PACKET * turns * turns / 2

    def turns(self, size: float) -> float:
        """Return in how many of them so many bytes have."""
        return (math.sqrt(self.window**2 + 2 * PACKET * size) - self.window) / PACKET
