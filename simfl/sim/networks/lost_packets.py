"""What a connection loses to a short queue before its link: TCP halves its window.

Slow start doubles the window until more is under way than the link and the queue before it hold.
What comes then is lost, and the window is halved (RFC 5681, 3.1 and 3.2: Reno).  If half of what
they hold does not fill the link, the link idles for a part of each way there and back, while the
window grows by a packet in that time; and once the queue is full again, the same begins anew
(Kurose and Ross, "Computer Networking", on TCP's sawtooth).
"""

import math

from simfl.sim.networks.slow_start import PACKET


def idles_s(size: float, bps: float, latency_s: float, window: float, queue: float) -> float:
    """Return how long the link idles in a transfer because packets were lost, seconds.

    What slow start waits before is not counted.  Lost packets come again at once; nothing times
    out.  What arrives until a loss is noticed is what was under way.

    Args:
        size: bytes.
        bps: at which the link moves them (inf: unlimited).
        latency_s: one-way; half of what an answer takes.
        window: bytes at first.
        queue: bytes that can wait before the link (inf: any number).
    """
    round_s = 2 * latency_s
    link = bps * round_s / 8  # bytes under way that fill the link
    most, left = link + queue, size
    while window <= most and left > 0:
        left, window = left - window, 2 * window
    left -= most
    if left <= 0 or most / 2 >= link:
        return 0.0
    climb = _Climb(most / 2)
    turns = (link - climb.window) / PACKET  # ways there and back until the link is full again
    slow, full = climb.moved(turns), _Climb(link).moved(queue / PACKET)
    times, rest = divmod(left, slow + full)
    last = min(rest, slow)
    return round_s * (times * (turns - slow / link) + climb.turns(last) - last / link)


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
