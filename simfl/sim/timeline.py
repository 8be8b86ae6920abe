"""The virtual clock: SimPy's environment with absolute instants; it alone writes events."""

import heapq
from collections.abc import Callable, Container, Iterator
from typing import Any

import simpy
from simpy.events import EventPriority

from simfl.core.units.dimensions import LATEST_S
from simfl.errors import RunError

AFTER = EventPriority(2)
"""Sees what has ended at the same instant, and is seen by deadlines (SimPy: 0 urgent, 1 normal)."""

LATE = EventPriority(3)
"""Runs after everything else due at the same instant."""

LAST = EventPriority(4)
"""The end of virtual time: what happens at that very instant has happened."""

NORMAL = EventPriority(1)

URGENT = EventPriority(0)

ROUNDING = 1e-12
"""Share of an instant that sums of durations which should end at it may be late by."""

_MANY = 1024
"""Forgotten timers that are not worth sweeping."""

Listener = Callable[[float, str, dict[str, Any]], None]
"""Called as ``listener(time_s, kind, facts)`` for everything observable."""


class Timeline(simpy.Environment):
    """Virtual time in seconds.  Everything observable passes through `note`."""

    # SimPy's clock as a slot: `now` then reads it without a call, and everybody always asks.
    __slots__ = ("_now",)

    def __init__(self) -> None:
        super().__init__(initial_time=0.0)
        self._listeners: list[tuple[Listener, Container[str] | None]] = []
        self._by_kind: dict[str, list[Listener]] = {}
        self._forgotten = 0

    def listen(self, listener: Listener, kinds: Container[str] | None = None) -> None:
        """Tell `listener` of all events of these `kinds` (None: of any) from now on."""
        self._listeners.append((listener, kinds))
        self._by_kind = {}

    def mute(self) -> None:
        """Note nothing any more: something has failed, and what still happens is not to be told.

        A failure inside a process comes to light only when all else due at that instant has
        happened, perhaps in another order than it should have.
        """
        self._listeners, self._by_kind = [], {}

    def note(self, kind: str, **facts: Any) -> None:
        """Record that something observable happens now.

        Raises:
            RunError: no clock tells such an instant.
        """
        now_s = self.now
        if now_s > LATEST_S:
            raise RunError(
                f"the clock is at {now_s:g} s ({kind}), and beyond {LATEST_S:g} s it does not "
                "tell milliseconds any more; `simfl fleet` shows what takes so long"
            )
        listeners = self._by_kind.get(kind)
        if listeners is None:
            listeners = self._by_kind[kind] = [
                listener for listener, kinds in self._listeners if kinds is None or kind in kinds
            ]
        for listener in listeners:
            listener(now_s, kind, facts)

    def at(self, time_s: float, priority: EventPriority = NORMAL) -> "Timer":
        """Return an event that fires at the absolute instant `time_s`, to the last bit.

        A relative timeout would fire at ``now + (time_s - now)``, which rounding can put one ulp
        beside `time_s`, and a tie with a deadline would be decided by that ulp.
        """
        event, now_s = Timer(self), self.now
        heapq.heappush(
            self._queue,
            (time_s if time_s > now_s else now_s, priority, next(self._eid), event),
        )
        return event

    def at_once(self, then: Callable[[], None]) -> None:
        """Call `then` when what happens now has been done, before all else due at this instant."""
        self.at(self.now, URGENT).callbacks.append(lambda _: then())

    def happen(self, event: simpy.Event) -> None:
        """Let `event` succeed: without the queue, if what it would give next is that very event.

        Only for who has nothing else to do in what happens now, nor has anybody after them.
        """
        queue = self._queue
        if queue and queue[0][0] <= self.now and queue[0][1] <= NORMAL:
            event.succeed()
            return
        event._ok, event._value = True, None
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)

    def deadline(self, time_s: float) -> "Timer":
        """Return an event at `time_s` that loses every tie: what lands exactly then has arrived."""
        return self.at(time_s, LATE)

    def time_up(self, time_s: float, priority: EventPriority = LATE) -> simpy.Event:
        """Return an event that loses ties, as `deadline`, and those that rounding hides, too.

        Durations add up to instants that are some ulps apart where they should be the same.  It
        fires at the last of these, after everything that comes before its `priority`.
        """
        event = simpy.Event(self)
        self.at(time_s, priority).callbacks.append(lambda _: self.settle(event.succeed, priority))
        return event

    def settle(self, then: Callable[[], object], priority: EventPriority = LATE) -> None:
        """Call `then` now, or as soon as what only rounding puts later has happened, too.

        Only what comes before its `priority` is waited for.
        """
        last_s = self.now * (1 + ROUNDING)

        def look(_: simpy.Event | None = None) -> None:
            if hidden_s := self._hidden_s(last_s, priority):
                self.at(max(hidden_s), priority).callbacks.append(look)
            else:
                then()

        look()

    @property
    def settled(self) -> bool:
        """Whether nothing that deadlines see is due that only rounding puts later than now."""
        return not self._hidden_s(self.now * (1 + ROUNDING), LATE)

    def _hidden_s(self, last_s: float, priority: EventPriority) -> list[float]:
        """Return the instants, after now and by `last_s`, of what comes before a `priority`."""
        return [at for at, rank in self._due(last_s) if at > self.now and rank < priority]

    def _due(self, last_s: float, place: int = 0) -> Iterator[tuple[float, int]]:
        """Yield instant and priority of what is due by `last_s`: the top of the queue, a heap."""
        if place < len(self._queue) and self._queue[place][0] <= last_s:
            time_s, priority, _, event = self._queue[place]
            if not _is_forgotten(event):
                yield time_s, priority
            for below in (2 * place + 1, 2 * place + 2):
                yield from self._due(last_s, below)

    def forget(self, timer: "Timer") -> None:
        """Do without `timer`; nobody may wait for it any more.

        SimPy can't take an event out of its queue.  So that timers of the far future that turned
        out not to be needed don't pile up, the queue is swept once most of it is such timers.
        """
        if timer.callbacks is None or timer.forgotten:  # it has happened
            return
        timer.forgotten = True
        timer.callbacks.clear()
        self._forgotten += 1
        if self._forgotten > _MANY and 2 * self._forgotten > len(self._queue):
            self._queue[:] = [entry for entry in self._queue if not _is_forgotten(entry[3])]
            heapq.heapify(self._queue)
            self._forgotten = 0


Timeline.now = Timeline._now  # type: ignore[assignment, method-assign, misc]


class Timer(simpy.Event):
    """An event whose instant is known from the start."""

    # As slots they are made and read sooner, and a clock makes timers all the time.
    __slots__ = ("callbacks", "env")

    forgotten = False
    _ok, _value = True, None


def _is_forgotten(event: simpy.Event) -> bool:
    return isinstance(event, Timer) and event.forgotten
