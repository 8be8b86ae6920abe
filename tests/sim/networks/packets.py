"""One queue for all, packet by packet: written from docs/formulas.md, and as plainly as can be."""

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.sim.networks.flows import BITS, Start


@dataclass
class _Sender:
    """Who sends a flow: bits that are not written yet, written, under way, and not there yet."""

    unwritten: float
    own_bps: float
    own_free_s: float
    window: float
    most: float
    few: float
    latency_s: float
    written: float = 0.0
    flying: float = 0.0
    missing: float = 0.0
    end_s: float = math.inf


@dataclass
class Queue:
    """A shared link of `capacity` bit/s, with options as of a `FifoLink`.

    Windows are whole packets or none, and so few that no two packets ever move as one.
    """

    capacity: float
    window: float
    buffer: float
    own_first: bool
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _waiting: deque[tuple[_Sender, float]] = field(default_factory=deque)
    _busy: bool = False
    _now: float = 0.0
    _count: int = 0

    def ends(self, starts: Sequence[Start], latencies_s: Sequence[float]) -> list[float]:
        """Return when each flow ends, whose sender is so far away."""
        senders = []
        for (at_s, bits, own_bps), latency_s in zip(starts, latencies_s, strict=True):
            most = few = math.inf
            if self.buffer:  # and what the time of an answer takes
                room = self.buffer + 2 * latency_s * min(own_bps, self.capacity)
                most = max(math.ceil(room / BITS - 1e-9), 2) * BITS
                few = max(room - self.buffer / 3, BITS)
            window = min(int(self.window / BITS + 1e-9) * BITS or math.inf, most)
            sender = _Sender(bits, own_bps, at_s, window, most, few, latency_s, missing=bits)
            senders.append(sender)
            self._at(at_s, partial(self._send, sender))
        while self._events:
            self._now, _, happen = heapq.heappop(self._events)
            happen()
        return [sender.end_s for sender in senders]

    def _at(self, at_s: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_s, self._count, happen))
        self._count += 1

    def _send(self, sender: _Sender) -> None:
        held = sender.flying + sender.written
        if sender.unwritten and (held <= sender.few or not sender.flying):
            more = min(sender.unwritten, sender.most - held)
            sender.unwritten, sender.written = sender.unwritten - more, sender.written + more
        while sender.written > 1e-6:
            bits = min(BITS, sender.written)
            fits = not sender.flying or sender.flying + bits <= sender.window * (1 + 1e-9)
            if not fits or (sender.unwritten and bits < BITS * (1 - 1e-9)):
                return
            sender.written, sender.flying = sender.written - bits, sender.flying + bits
            here_s = self._now
            if self.own_first:  # it moves on while it comes
                begins_s = max(sender.own_free_s, self._now)
                sender.own_free_s = begins_s + bits / sender.own_bps
                here_s = max(begins_s, sender.own_free_s - bits / self.capacity) + sender.latency_s
                self._at(here_s, partial(self._enter, sender, bits))
            else:
                self._enter(sender, bits)

    def _enter(self, sender: _Sender, bits: float) -> None:
        self._waiting.append((sender, bits))
        if not self._busy:
            self._serve()

    def _serve(self) -> None:
        self._busy = bool(self._waiting)
        if self._busy:
            (sender, bits), began_s = self._waiting.popleft(), self._now
            end_s = began_s + bits / self.capacity
            self._at(end_s, partial(self._served, sender, bits, began_s))

    def _served(self, sender: _Sender, bits: float, began_s: float) -> None:
        self._serve()
        if self.own_first:
            self._land(sender, bits)
            return
        begins_s = max(sender.own_free_s, began_s + sender.latency_s)
        last_s = self._now + sender.latency_s
        sender.own_free_s = max(begins_s + bits / sender.own_bps, last_s)
        self._at(sender.own_free_s, partial(self._land, sender, bits))

    def _land(self, sender: _Sender, bits: float) -> None:
        sender.missing -= bits
        if sender.missing <= 1e-6:
            sender.end_s = self._now
        else:
            self._at(self._now + sender.latency_s, partial(self._answer, sender, bits))

    def _answer(self, sender: _Sender, bits: float) -> None:
        sender.flying -= bits
        sender.window = min(sender.window + bits, sender.most)
        self._send(sender)
