"""A star network: every device has links of its own, all share the server's two, max-min fairly."""

import math

import numpy as np
import simpy
from numpy.typing import NDArray
from pydantic import Field

from simfl.sim.networks.base import Direction, Links, Network, Transfer, networks
from simfl.sim.networks.fair_link import FairLink, Flow
from simfl.sim.timeline import Timeline
from simfl.units import LinkRate


@networks.register("shared")
class Shared(Network):
    """Flow-level transfers: latency first, then bytes at a fair share of the server's link.

    Rates change only when a transfer starts, ends or is aborted; between two such instants they are
    constant.  Where the server's link is unlimited a transfer takes ``latency + 8 * bytes / rate``.
    A device has at most one transfer under way in each direction.

    Cost: O(log n) host time an event, n the transfers under way.
    """

    server_downlink: LinkRate = Field(
        math.inf, description="the server's downlink, shared by all uploads (default: unlimited)"
    )
    server_uplink: LinkRate = Field(
        math.inf, description="the server's uplink, shared by all downloads (default: unlimited)"
    )

    def bind(
        self,
        timeline: Timeline,
        downlink_bps: NDArray[np.float64],
        uplink_bps: NDArray[np.float64],
        latency_s: NDArray[np.float64],
    ) -> Links:
        """See `Network.bind`."""
        return _SharedLinks(
            timeline,
            {"down": downlink_bps, "up": uplink_bps},
            latency_s,
            {"down": self.server_uplink, "up": self.server_downlink},
        )


class _SharedLinks(Links):
    def __init__(
        self,
        timeline: Timeline,
        device_bps: dict[Direction, NDArray[np.float64]],
        latency_s: NDArray[np.float64],
        server_bps: dict[Direction, float],
    ) -> None:
        self._timeline = timeline
        self._device_bps = device_bps
        self._latency_s = latency_s
        self._lines: dict[Direction, _Line] = {
            way: _Line(timeline, bps) for way, bps in server_bps.items() if math.isfinite(bps)
        }

    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        if direction in self._lines:
            return None
        return float(self._latency_s[device] + 8 * size / self._device_bps[direction][device])

    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        bps = self._device_bps[direction][device]
        if direction in self._lines:
            bps = min(bps, self._lines[direction].link.capacity)
        return float(self._latency_s[device] + 8 * size / bps)

    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        latency = float(self._latency_s[device])
        bps = float(self._device_bps[direction][device])
        if direction in self._lines and size > 0:
            return _SharedTransfer(self._timeline, self._lines[direction], size, latency, bps)
        return _LoneTransfer(self._timeline, size, latency, bps)


class _LoneTransfer(Transfer):
    """Bytes that meet nobody else's: known from the start when they will have arrived."""

    def __init__(self, timeline: Timeline, size: int, latency_s: float, bps: float) -> None:
        super().__init__(timeline)
        self._size, self._bps = size, bps
        self._first_byte_s = timeline.now + latency_s
        self._aborted = False
        end = timeline.at(timeline.now + (latency_s + 8 * size / bps))
        end.callbacks.append(self._arrive)

    def _arrive(self, _: simpy.Event) -> None:
        if not self._aborted:
            self.succeed()

    def abort(self) -> int:
        """See `Transfer.abort`."""
        if self.triggered:
            return self._size
        self._aborted = True
        moving_s = self.env.now - self._first_byte_s
        if moving_s <= 0:
            return 0
        return int(min(moving_s * self._bps / 8 + _ROUNDING, self._size))


class _SharedTransfer(Transfer):
    """Bytes that share a line."""

    def __init__(
        self, timeline: Timeline, line: "_Line", size: int, latency_s: float, bps: float
    ) -> None:
        super().__init__(timeline)
        self._line, self._size, self._bps = line, size, bps
        self._flow: Flow | None = None
        self._aborted = False
        if latency_s > 0:
            timeline.at(timeline.now + latency_s).callbacks.append(self._begin)
        else:
            self._begin()

    def _begin(self, _: simpy.Event | None = None) -> None:
        if not self._aborted:
            self._flow = self._line.join(8.0 * self._size, self._bps, self)

    def abort(self) -> int:
        """See `Transfer.abort`."""
        if self.triggered:
            return self._size
        if self._aborted or self._flow is None:
            self._aborted = True
            return 0
        self._aborted = True
        return int(min(self._line.leave(self._flow) / 8 + _ROUNDING, self._size))


_ROUNDING = 1e-6
"""Of a byte: what floating point may fall short of a whole byte that has moved."""


class _Line:
    """A `FairLink` on the timeline."""

    def __init__(self, timeline: Timeline, bps: float) -> None:
        self.link = FairLink(bps)
        self._timeline = timeline
        self._armed_s = math.inf

    def join(self, bits: float, limit: float, transfer: Transfer) -> Flow:
        flow = self.link.join(self._timeline.now, bits, limit, transfer)
        self._arm()
        return flow

    def leave(self, flow: Flow) -> float:
        moved = self.link.leave(self._timeline.now, flow)
        self._arm()
        return moved

    def _arm(self) -> None:
        """Wake at the next end.  A wake-up that comes too early just looks again."""
        end_s = self.link.next_end()
        if end_s < self._armed_s:
            self._armed_s = end_s
            self._timeline.at(end_s).callbacks.append(self._wake)

    def _wake(self, _: simpy.Event) -> None:
        if self._timeline.now < self._armed_s:  # left over from before an earlier end came up
            return
        self._armed_s = math.inf
        for flow in self.link.finish(self._timeline.now):
            flow.owner.succeed()
        self._arm()
