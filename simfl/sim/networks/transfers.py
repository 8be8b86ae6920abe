"""Transfers: bytes that meet nobody else's, and bytes that share a link.

What protocols add to a message is spread evenly over it: where `total` bytes move for a message of
`size`, half of the one have come with half of the other.
"""

from typing import Any

import simpy
from typing_extensions import override

from simfl.sim.networks.base import ROUNDING, Transfer
from simfl.sim.networks.timed_link import TimedLink
from simfl.sim.timeline import Timeline


class LoneTransfer(Transfer):
    """Bytes that meet nobody else's: known from the start when they will have arrived.

    Args:
        timeline: the clock.
        size: bytes of the message.
        total: bytes that move for it.
        before_s: from now to the first byte.
        bps: bit/s at which they move.
    """

    __slots__ = ("_bps", "_end", "_first_byte_s", "_size", "_timeline", "_total")

    def __init__(
        self, timeline: Timeline, size: int, total: float, before_s: float, bps: float
    ) -> None:
        super().__init__(timeline)
        self._timeline = timeline
        self._size, self._total, self._bps = size, total, bps
        self._first_byte_s = timeline.now + before_s
        self._end = timeline.at(timeline.now + (before_s + 8 * total / bps))
        self._end.callbacks.append(self._arrive)

    def _arrive(self, _: simpy.Event) -> None:
        self._timeline.happen(self)

    @override
    def abort(self) -> int:
        if self.triggered:
            return self._size
        self._timeline.forget(self._end)
        moving_s = self.env.now - self._first_byte_s
        if moving_s <= 0:
            return 0
        return _delivered(moving_s * self._bps / 8, self._total, self._size)


class SharedTransfer(Transfer):
    """Bytes that share a link.

    Args:
        timeline: the clock.
        link: what is shared.
        cell: of the device, -1: none.
        size: bytes of the message.
        total: bytes that move for it.
        latency_s: of the device, one way; looked at where the link `has_latency`.
        before_s: from now until they begin to share it.
        bps: bit/s that the device's own link lets through.
    """

    __slots__ = (
        "_aborted", "_bps", "_cell", "_flow", "_latency_s", "_link", "_size", "_timeline", "_total",
    )  # fmt: skip

    def __init__(
        self,
        timeline: Timeline,
        link: TimedLink,
        cell: int,
        size: int,
        total: float,
        latency_s: float,
        before_s: float,
        bps: float,
    ) -> None:
        super().__init__(timeline)
        self._timeline = timeline
        self._link, self._cell, self._bps = link, cell, bps
        self._latency_s = latency_s
        self._size, self._total = size, total
        self._flow: Any = None
        self._aborted = False
        if before_s > 0:
            timeline.at(timeline.now + before_s).callbacks.append(self._begin)
        else:
            self._begin()

    def _begin(self, _: simpy.Event | None = None) -> None:
        if not self._aborted:
            bits = 8.0 * self._total
            self._flow = self._link.join(bits, self._bps, self, self._cell, self._latency_s)

    def arrive(self, last: bool) -> None:
        """Take note that the last byte has arrived, as the `last` thing in what happens now."""
        self._flow = None  # which refers back to this transfer
        if last:
            self._timeline.happen(self)
        else:
            self.succeed()

    @override
    def abort(self) -> int:
        if self.triggered:
            return self._size
        if self._aborted or self._flow is None:
            self._aborted = True
            return 0
        self._aborted = True
        return _delivered(self._link.leave(self._flow) / 8, self._total, self._size)


def _delivered(moved: float, total: float, size: int) -> int:
    """Return the whole bytes of `size` that have come with `moved` bytes of `total`."""
    return int(min(moved * (size / total) + ROUNDING, size)) if size else 0
