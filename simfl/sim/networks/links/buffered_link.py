"""One link shared max-min fairly by flows that come through narrower ones, and may wait before it.

What a flow's own link has passed waits before the shared one, up to a buffer's size: a sender does
not know where its bytes are, and sends as long as its window lasts.  So a flow that got less than
its own link's rate may get more than that later, until nothing of it waits any more.

A fluid model of two queues in a row, all flows alike looked at in every event: O(n log n) each.
Between two events rates are constant, and what waits of a flow changes at a constant rate until the
buffer is full or everything has been sent, neither of which changes a rate.  No SimPy here: time is
an argument.
"""

import math
from typing import Any


class Flow:
    """A transfer under way; `owner` is whatever the caller wants back when it ends.

    At its present rate it `ends`, or nothing of it waits any more (`clears`), at these instants.
    """

    __slots__ = ("bits", "clears", "ends", "left", "limit", "owner", "rate", "waiting")

    def __init__(self, bits: float, limit: float, owner: Any) -> None:
        self.bits = self.left = bits
        self.limit = limit
        self.owner = owner
        self.waiting = self.rate = 0.0
        self.ends = self.clears = math.inf


class BufferedLink:
    """A link of `capacity` bit/s, before which `buffer` bits of each flow may wait.

    Instants must not decrease from call to call.
    """

    def __init__(self, capacity: float, buffer: float) -> None:
        self._capacity, self._buffer = capacity, buffer
        self._flows: list[Flow] = []  # by start
        self._now = 0.0
        self._next = math.inf

    def __len__(self) -> int:
        return len(self._flows)

    def join(self, now: float, bits: float, limit: float, owner: Any = None) -> Flow:
        """Let a flow of `bits` start now, whose own link lets `limit` bit/s through."""
        self._advance(now)
        flow = Flow(bits, limit, owner)
        self._flows.append(flow)
        self._share()
        return flow

    def leave(self, now: float, flow: Flow) -> float:
        """Take `flow` off the link before its end; return the bits that it got through."""
        self._advance(now)
        self._flows.remove(flow)
        self._share()
        return flow.bits - flow.left

    def resize(self, now: float, capacity: float) -> None:
        """Give the link another capacity from now on."""
        self._advance(now)
        self._capacity = capacity
        self._share()

    def next_end(self) -> float:
        """Return the next instant at which a flow ends, or nothing of it waits any more."""
        return self._next

    def finish(self, now: float) -> list[Flow]:
        """Take the flows that end by `now`, no later than `next_end`, off; return them by start."""
        self._advance(now)
        done = [flow for flow in self._flows if not flow.left]
        self._flows = [flow for flow in self._flows if flow.left]
        self._share()
        return done

    def _advance(self, now: float) -> None:
        """Let what flows flow until `now`."""
        passed_s, self._now = now - self._now, now
        for flow in self._flows:
            moved = flow.rate * passed_s
            flow.left = max(flow.left - moved, 0.0) if now < flow.ends else 0.0
            came = flow.limit * passed_s if flow.limit < math.inf else 0.0
            waiting = min(flow.waiting + came - moved, self._buffer, flow.left)
            flow.waiting = max(waiting, 0.0) if now < flow.clears else 0.0

    def _share(self) -> None:
        """Divide the capacity, those first that can use the least; see when that changes."""
        spare = self._capacity
        demands = [(math.inf if flow.waiting else flow.limit, flow) for flow in self._flows]
        demands.sort(key=lambda pair: pair[0])
        for served, (demand, flow) in enumerate(demands):
            flow.rate = min(demand, spare / (len(demands) - served))
            spare = max(spare - flow.rate, 0.0)
            flow.ends = self._now + flow.left / flow.rate if flow.rate else math.inf
            drains = flow.rate - flow.limit
            flow.clears = self._now + flow.waiting / drains if drains > 0 else math.inf
        self._next = min((min(flow.ends, flow.clears) for flow in self._flows), default=math.inf)
