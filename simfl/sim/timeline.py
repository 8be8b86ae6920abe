"""The virtual clock: SimPy's environment, events at absolute instants, one mouth for the log."""

import heapq
from collections.abc import Callable
from typing import Any

import simpy
from simpy.events import EventPriority

LATE = EventPriority(2)
"""Runs after everything else due at the same instant (SimPy: 0 urgent, 1 normal)."""

LAST = EventPriority(3)
"""The end of virtual time: what happens at that very instant has happened."""

NORMAL = EventPriority(1)

Listener = Callable[[float, str, dict[str, Any]], None]
"""Called as ``listener(time_s, kind, facts)`` for everything observable."""


class Timeline(simpy.Environment):
    """Virtual time in seconds.  Everything observable passes through `note`."""

    def __init__(self) -> None:
        super().__init__(initial_time=0.0)
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of everything noted from now on."""
        self._listeners.append(listener)

    def mute(self) -> None:
        """Note nothing any more: something has failed, and what still happens is not to be told.

        A failure inside a process comes to light only when all else due at that instant has
        happened, perhaps in another order than it should have.
        """
        self._listeners = []

    def note(self, kind: str, **facts: Any) -> None:
        """Record that something observable happens now."""
        for listener in self._listeners:
            listener(self.now, kind, facts)

    def at(self, time_s: float, priority: EventPriority = NORMAL) -> simpy.Event:
        """Return an event that fires at the absolute instant `time_s`, to the last bit.

        A relative timeout would fire at ``now + (time_s - now)``, which rounding can put one ulp
        beside `time_s`, and a tie with a deadline would be decided by that ulp.
        """
        event = simpy.Event(self)
        event._ok, event._value = True, None
        heapq.heappush(self._queue, (max(time_s, self.now), priority, next(self._eid), event))
        return event

    def deadline(self, time_s: float) -> simpy.Event:
        """Return an event at `time_s` that loses every tie: what lands exactly then has arrived."""
        return self.at(time_s, LATE)
