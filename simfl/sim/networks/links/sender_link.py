"""A sender's own link, shared by what it sends: its kernel holds back what would only queue.

Windows alone would let whoever came first fill the queue (`fifo_link`).  Linux lets a connection
have no more in its own machine's queues than it sends within a thousandth of a second, or two
packets (TCP small queues: `tcp_small_queue_check` and `tcp_update_pacing_rate`), and does not widen
a window that is not used (RFC 7661; `tcp_is_cwnd_limited`).  So connections take turns at nearly
the same rate, but for one that found the link idle: its window doubled once or twice before the
others came, and its turns are that much longer.  `python -m testbed.under_way` measures it.
"""

import math
from collections import deque
from typing import Any

from typing_extensions import override

from simfl.sim.networks.links.fifo_link import FifoLink
from simfl.sim.networks.links.windowed_flow import ROUNDING, Flow

HELD_S = 1e-3 * 1448 / 2280
"""For so long a connection's packets may queue at the rate that its window promises: 1 ms, in which
the kernel counts the memory of a full packet (2,280 B of it on Linux 6.18), not its 1,448 bytes."""
PROMISE = 2.0
"""Windows in a round trip: the rate that slow start is counted on to reach."""
SMOOTHING = 8
"""One in so many is the share of a new round trip in their mean (RFC 6298, 2.3)."""


class HeldFlow(Flow):
    """A transfer under way, and what its sender knows of it."""

    __slots__ = ("most_flying", "round_left", "round_trip_s", "sent_s")

    def __init__(
        self, now: float, bits: float, limit: float, latency_s: float, owner: Any, alone: bool
    ) -> None:
        super().__init__(now, bits, limit, latency_s, owner)
        self.sent_s = deque[float]()  # when each chunk joined the queue that is not answered
        self.round_trip_s = 0.0 if alone else math.inf  # until an answer tells
        self.most_flying = 0.0  # of this round trip
        self.round_left = 0.0  # bits of it that are not answered yet


class SenderLink(FifoLink):
    """A link of `capacity` bit/s in the sender's own machine; `window` as of `FifoLink`."""

    def __init__(self, capacity: float, window: float) -> None:
        super().__init__(capacity, window, buffer=0.0, own_first=False)

    @override
    def _flow(
        self, now: float, bits: float, limit: float, latency_s: float, owner: Any
    ) -> HeldFlow:
        return HeldFlow(now, bits, limit, latency_s, owner, alone=self._moving is None)

    @override
    def _next_chunk(self, flow: Flow) -> float:
        assert isinstance(flow, HeldFlow)
        bits = super()._next_chunk(flow)
        held = 2 * bits
        if flow.round_trip_s < math.inf:
            promised_s = flow.round_trip_s / PROMISE
            held = max(held, flow.window * HELD_S / promised_s if promised_s else math.inf)
        queued = flow.queued + self._moves(flow)
        if not bits or (queued and queued + bits > held * (1 + ROUNDING)):
            return 0.0
        flow.sent_s.append(self._now)
        flow.most_flying = max(flow.most_flying, flow.flying + bits)
        return bits

    @override
    def _moved(self) -> None:
        assert self._moving is not None
        flow, _ = self._moving
        super()._moved()
        if not flow.over:
            self._send(flow)

    @override
    def _wider(self, flow: Flow, bits: float) -> float:
        assert isinstance(flow, HeldFlow)
        took_s, mean_s = self._now - flow.sent_s.popleft(), flow.round_trip_s
        known = 0 < mean_s < math.inf
        flow.round_trip_s = mean_s + (took_s - mean_s) / SMOOTHING if known else took_s
        used = flow.window < 2 * flow.most_flying * (1 + ROUNDING)
        flow.round_left -= bits
        if flow.round_left <= 0:
            flow.most_flying = flow.round_left = flow.flying
        return bits if used else 0.0
