"""A transfer that is sent by windows, as TCP does, in chunks, out of a limited buffer."""

import math
from typing import Any

_IN_FLOW, _IN_WINDOW = 512, 8
"""How many chunks make up a flow and a window at most; none is less than a packet."""
ROUNDING = 1e-9
"""Share of a chunk or a window that floating point may be off by."""


class Flow:
    """A transfer under way.  All that is moved is in bits, instants are in seconds.

    Args:
        now: when it starts.
        bits: of it.
        limit: bit/s that its own link lets through.
        latency_s: one way.
        owner: whatever the caller wants back when it ends.
    """

    __slots__ = (
        "bits", "came", "coarsest", "coming", "few", "flying", "latency_s", "limit", "most", "over",
        "own_free_s", "owner", "passed", "place", "queued", "unsent", "unwritten", "window",
    )  # fmt: skip

    def __init__(self, now: float, bits: float, limit: float, latency_s: float, owner: Any) -> None:
        self.bits = self.unsent = self.unwritten = bits  # not sent, and not in the buffer either
        self.limit, self.latency_s, self.owner = limit, latency_s, owner
        self.window = self.most = math.inf  # bits that may be under way now, and ever
        self.few = math.inf  # bits in the buffer, of which the sender is told that there is room
        self.coarsest = bits / _IN_FLOW  # chunk
        self.passed = self.came = 0.0  # bits that have left the shared link, and that are there
        self.flying, self.coming = 0.0, 0  # bits not answered yet, and chunks not there yet
        self.queued = self.place = 0.0  # bits in the queue, and where the last of them was
        self.own_free_s = now  # when its own link is free again
        self.over = False

    def next_chunk(self, packet: float) -> float:
        """Return the bits that its window lets go at once now, a chunk at most, 0 for none.

        Args:
            packet: bits of one.
        """
        chunk = max(packet, min(self.coarsest, self.window / _IN_WINDOW))
        ready = self.unsent - self.unwritten
        if ready < chunk * (1 + ROUNDING):
            chunk = 0.0 if self.unwritten and ready < packet * (1 - ROUNDING) else ready
        fits = self.flying + chunk <= self.window * (1 + ROUNDING)
        return chunk if fits or not self.flying else 0.0

    def write(self) -> None:
        """Fill the buffer again once little enough is in it that is not answered."""
        held = self.flying + self.unsent - self.unwritten
        if self.unwritten and (held <= self.few or not self.flying):
            self.unwritten = max(self.unwritten - (self.most - held), 0.0)
