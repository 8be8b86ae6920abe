"""One link with one first-in-first-out queue, shared by flows that send by windows, as TCP does.

Such a queue serves what came first, whoever sent it, so who has more under way gets more.  A flow
has a window under way; each answer lets as much go again, and as much more until the window is at
its largest (slow start: RFC 5681, 3.1).  There is room for everything in the queue, so that nothing
is lost and nobody slows down.  A limited buffer of the sender's is filled again only once a third
of it is free, as Linux tells programs no sooner.  What is sent then waits for the flow's own link
first, so that a flow with a slow one has less in this queue than others, and gets less of it.

Flows move in chunks: packets, or some of them, so that large transfers don't cost as many steps.  A
chunk moves on while it still comes, as its packets do, so that a flow alone is as fast as its
narrowest link.  No SimPy here: time is an argument.
"""

import math
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Any

from simfl.sim.networks.links.slow_start import PACKET
from simfl.sim.networks.links.windowed_flow import ROUNDING, Flow

_FREE = 1 / 3
"""Of a buffer: what has to be free before more is put into it (Linux: `sk_stream_min_wspace`)."""


class FifoLink:
    """A link of `capacity` bit/s.  Instants must not decrease from call to call.

    Args:
        capacity: bit/s.
        window: bits that a flow has under way at first, rounded to whole packets (0: no limit).
        buffer: bits of a flow that wait here at most, but for a packet (0: no limit).
        own_first: whether a flow passes its own link before this one (an upload), or after it.
    """

    def __init__(self, capacity: float, window: float, buffer: float, own_first: bool) -> None:
        self._capacity = self._fastest = capacity
        self._window, self._buffer = window or math.inf, buffer or math.inf
        self._packet = min(8.0 * PACKET, self._window)
        if self._window < math.inf:
            self._window = self._packet * int(self._window / self._packet * (1 + ROUNDING))
        self._own_first = own_first
        self._flows: dict[Flow, None] = {}  # by start
        self._queue = deque[tuple[Flow, float]]()
        self._joined = self._begun = 0.0  # bits that have joined the queue, and that it has begun
        self._gone = 0.0  # with, ever; and those in it of flows that have left
        self._moving: tuple[Flow, float] | None = None  # the chunk that the link moves,
        self._began_s, self._until_s = 0.0, math.inf  # since when and until when,
        self._left, self._since_s = 0.0, 0.0  # and its bits that were left when
        self._steps: list[tuple[float, int, Callable[[Flow, float], None], Flow, float]] = []
        self._numbers = count()
        self._soonest: list[tuple[float, int, Flow]] = []  # no flow ends before what stands here
        self._now = 0.0
        self._done: list[Flow] = []

    def __len__(self) -> int:
        return len(self._flows) + len(self._done)

    def join(
        self, now: float, bits: float, limit: float, owner: Any = None, latency_s: float = 0.0
    ) -> Flow:
        """Let a flow start now, whose own link lets `limit` bit/s through, so far away one way."""
        self._advance(now)
        flow = self._flow(now, bits, limit, latency_s, owner)
        if self._buffer < math.inf:  # and what is on its way there and back meanwhile
            room, packet = self._buffer + 2 * latency_s * min(limit, self._capacity), 8 * PACKET
            flow.most = packet * max(math.ceil(room / packet * (1 - ROUNDING)), 2)
            flow.few = max(room - _FREE * self._buffer, packet)
            flow.coarsest = min(flow.coarsest, self._buffer / 2)
        flow.window = min(self._window, flow.most)
        self._flows[flow] = None
        heappush(self._soonest, (now, next(self._numbers), flow))
        self._send(flow)
        return flow

    def leave(self, now: float, flow: Flow) -> float:
        """Take `flow` off the link before its end; return the bits of it that are there."""
        self._advance(now)
        if flow in self._flows:
            del self._flows[flow]
            self._gone += flow.queued
            self._look_again()
        else:
            self._done.remove(flow)
        flow.over = True
        return flow.came

    def resize(self, now: float, capacity: float) -> None:
        """Give the link another capacity from now on."""
        self._advance(now)
        if self._moving is not None:
            self._move(self._left - (now - self._since_s) * self._capacity, capacity)
        self._capacity, self._fastest = capacity, max(self._fastest, capacity)
        self._look_again()

    def next_end(self) -> float:
        """Return an instant before which no flow ends; if that is now, one may."""
        if self._done:
            return self._now
        step_s = min(self._steps[0][0] if self._steps else math.inf, self._until_s)
        while self._soonest:
            soonest_s, number, flow = self._soonest[0]
            if flow.over:
                heappop(self._soonest)
            elif (again_s := self._soonest_s(flow)) > soonest_s:
                heapreplace(self._soonest, (again_s, number, flow))
            else:
                return max(step_s, soonest_s)
        return math.inf

    def finish(self, now: float) -> list[Flow]:
        """Take the flows that have ended by `now` off; return them by end."""
        self._advance(now)
        done, self._done = self._done, []
        return done

    def _flow(self, now: float, bits: float, limit: float, latency_s: float, owner: Any) -> Flow:
        return Flow(now, bits, limit, latency_s, owner)

    def _look_again(self) -> None:
        """Forget what was known of ends: something happened that may let them be sooner."""
        self._soonest = [(self._now, next(self._numbers), flow) for flow in self._flows]

    def _soonest_s(self, flow: Flow) -> float:
        """Return an instant before which `flow` does not end, whoever else comes.

        Behind its last chunk in the queue come its bits that have not joined it; a packet less, for
        sums of so many bits are rounded.
        """
        if not self._fastest:
            return math.inf
        moves = self._moves(flow)
        left = flow.bits - flow.passed
        behind = left - moves
        if flow.queued:
            behind = max(behind, behind - flow.queued + flow.place - self._begun - self._gone)
        since_s = self._now if self._moving is None or not left else self._until_s
        passed_s = since_s + max(0.0, behind - self._packet) / self._fastest
        if self._own_first:
            return passed_s
        began_s = self._began_s if moves else self._now
        return max(
            passed_s, max(flow.own_free_s, began_s) + max(0.0, left - self._packet) / flow.limit
        )

    def _moves(self, flow: Flow) -> float:
        """Return the bits of the chunk that the link moves, if that is this flow's."""
        return self._moving[1] if self._moving is not None and self._moving[0] is flow else 0.0

    def _advance(self, now: float) -> None:
        """Take all steps until `now`."""
        while True:
            step_s = self._steps[0][0] if self._steps else math.inf
            if min(step_s, self._until_s) > now:
                break
            if self._until_s <= step_s:
                self._now = self._until_s
                self._moved()
            else:
                self._now, _, take, flow, bits = heappop(self._steps)
                if not flow.over:
                    take(flow, bits)
        self._now = now

    def _later(
        self, at_s: float, take: Callable[[Flow, float], None], flow: Flow, bits: float
    ) -> None:
        heappush(self._steps, (max(at_s, self._now), next(self._numbers), take, flow, bits))

    def _send(self, flow: Flow) -> None:
        """Let go what the window lets go."""
        flow.write()
        while flow.unsent and (bits := self._next_chunk(flow)):
            flow.unsent -= bits
            flow.flying += bits
            flow.coming += 1
            if self._own_first:  # it is in the queue so early that all of it is there when needed
                begins_s = max(flow.own_free_s, self._now)
                flow.own_free_s = begins_s + bits / flow.limit
                here_s = max(begins_s, flow.own_free_s - bits / (self._capacity or math.inf))
                self._later(here_s + flow.latency_s, self._enter, flow, bits)
            else:
                self._enter(flow, bits)

    def _next_chunk(self, flow: Flow) -> float:
        """Return the bits of `flow` that are let go at once now; 0: none."""
        return flow.next_chunk(self._packet)

    def _enter(self, flow: Flow, bits: float) -> None:
        """Put a chunk at the queue's end."""
        flow.queued += bits
        self._joined += bits
        flow.place = self._joined
        self._queue.append((flow, bits))
        if self._moving is None:
            self._serve()

    def _serve(self) -> None:
        """Begin with the queue's first chunk whose flow has not left."""
        self._moving, self._until_s = None, math.inf
        while self._moving is None and self._queue:
            flow, bits = self._queue.popleft()
            flow.queued -= bits
            self._begun += bits
            if flow.over:
                self._gone -= bits
            else:
                self._moving, self._began_s = (flow, bits), self._now
                self._move(bits, self._capacity)

    def _move(self, bits: float, capacity: float) -> None:
        self._left, self._since_s = bits, self._now
        self._until_s = self._now + bits / capacity if capacity else math.inf

    def _moved(self) -> None:
        """Let the chunk that the link has moved go on, and begin with the next."""
        assert self._moving is not None
        (flow, bits), began_s = self._moving, self._began_s
        self._serve()
        if flow.over:
            return
        flow.passed += bits
        if self._own_first:
            self._land(flow, bits)
        else:
            began_s = max(flow.own_free_s, began_s + flow.latency_s)
            flow.own_free_s = max(began_s + bits / flow.limit, self._now + flow.latency_s)
            self._later(flow.own_free_s, self._land, flow, bits)

    def _land(self, flow: Flow, bits: float) -> None:
        """Take note that a chunk is there."""
        flow.came += bits
        flow.coming -= 1
        if flow.unsent:
            self._later(self._now + flow.latency_s, self._answer, flow, bits)
        elif not flow.coming:
            flow.came, flow.over = flow.bits, True
            del self._flows[flow]
            self._done.append(flow)

    def _answer(self, flow: Flow, bits: float) -> None:
        """Take note that the sender knows of a chunk that is there."""
        flow.flying -= bits
        flow.window = min(flow.window + self._wider(flow, bits), flow.most)
        self._send(flow)

    def _wider(self, flow: Flow, bits: float) -> float:
        """Return by how many bits a window grows of which so many have been answered."""
        return bits
