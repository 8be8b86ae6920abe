"""One link shared max-min fairly by flows that each have a rate limit of their own.

Max-min fairness on one link is water-filling (Bertsekas & Gallager, Data Networks, 2nd ed., section
6.5.2): flows whose own limit lies below the *level* run at their limit, all others at the level,
which is what the limited ones leave of the capacity, divided equally.

An event costs O(log n).  Nothing is updated per flow: flows with equal limits form a group, and a
group's *work* (the bits that one of its flows has moved) is a linear function of a clock.  Groups
at their limit go by real time; all others share one virtual clock that advances at the level (as
in generalised processor sharing: Parekh & Gallager, 1993).  So when a flow starts or ends, only
groups whose limit the level crosses are touched.  No SimPy here: time is an argument.
"""

import math
from heapq import heapify, heappop, heappush
from typing import Any

_SCALE = 2**40
"""Limits are added up as integers, in 1/2**40 bit/s, so that no rounding error builds up."""

_Entry = tuple[float, int, Any]


class Flow:
    """A transfer under way; `owner` is whatever the caller wants back when it ends."""

    __slots__ = ("bits", "end", "group", "number", "owner")

    def __init__(self, group: "_Group", end: float, bits: float, number: int, owner: Any) -> None:
        self.group: _Group | None = group
        self.end = end
        self.bits = bits
        self.number = number
        self.owner = owner


class _Group:
    """Flows with one limit: they move the same bits at the same time."""

    __slots__ = ("clock", "count", "fair", "flows", "limit", "stamp", "units", "work")

    def __init__(self, limit: float, clock: float, fair: bool) -> None:
        self.limit = limit
        self.units: float = limit if math.isinf(limit) else round(limit * _SCALE)
        self.fair = fair
        self.work, self.clock = 0.0, clock  # the work done when its clock showed this
        self.flows: list[tuple[float, int, Flow]] = []
        self.count = 0
        self.stamp = -1  # number of the entry in `_ends` that is still true

    @property
    def slope(self) -> float:
        return 1.0 if self.fair else self.limit

    def head(self) -> Flow | None:
        """Return the flow that ends first, forgetting those that left."""
        while self.flows and self.flows[0][2].group is None:
            heappop(self.flows)
        return self.flows[0][2] if self.flows else None


class FairLink:
    """A link of `capacity` bit/s.  Instants must not decrease from call to call."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.level = math.inf
        self.now = 0.0
        self._number = 0
        self._clear()

    def __len__(self) -> int:
        return sum(group.count for group in self._groups.values())

    def _clear(self) -> None:
        self._virtual = 0.0  # bits that a flow at the level has moved so far
        self._groups: dict[float, _Group] = {}
        self._spare: int = round(self.capacity * _SCALE)  # what limited groups leave
        self._sharing = 0  # flows at the level
        # By whether a group is at the level: by when its head ends on its clock, and by limit (the
        # smallest first at the level, the largest first below it).
        self._ends: dict[bool, list[_Entry]] = {True: [], False: []}
        self._limits: dict[bool, list[_Entry]] = {True: [], False: []}

    def join(self, now: float, bits: float, limit: float, owner: Any = None) -> Flow:
        """Let a flow of `bits` start now."""
        self._advance(now)
        group = self._groups.get(limit)
        if group is None:
            fair = math.isinf(limit)
            group = self._groups[limit] = _Group(limit, self._clock(fair), fair)
        self._number += 1
        flow = Flow(group, self._work(group) + bits, bits, self._number, owner)
        heappush(group.flows, (flow.end, flow.number, flow))
        self._count(group, 1)
        if group.count == 1:
            self._push_limit(group)
        if group.head() is flow:
            self._push_end(group)
        self._level()
        return flow

    def leave(self, now: float, flow: Flow) -> float:
        """Take `flow` off the link before its end; return the bits it moved."""
        self._advance(now)
        group = flow.group
        assert group is not None
        moved = flow.bits - (flow.end - self._work(group))
        self._remove(flow, group)
        self._level()
        return min(max(moved, 0.0), flow.bits)

    def resize(self, now: float, capacity: float) -> None:
        """Give the link another capacity from now on."""
        self._advance(now)
        self._spare += round(capacity * _SCALE) - round(self.capacity * _SCALE)
        self.capacity = capacity
        self._level()

    def next_end(self) -> float:
        """Return the instant at which the next flow ends, if none starts or leaves (inf: none)."""
        return min(self._next(True), self._next(False))

    def finish(self, now: float) -> list[Flow]:
        """Take the flows that end by `now`, no later than `next_end`, off; return them by start."""
        done: list[Flow] = []
        for fair in (True, False):
            while self._next(fair) <= now:
                group: _Group = self._ends[fair][0][2]
                flow = group.head()
                assert flow is not None
                self._remove(flow, group)
                done.append(flow)
        self._advance(now)
        self._level()
        return sorted(done, key=lambda flow: flow.number)

    def rates(self) -> dict[float, tuple[int, float]]:
        """Return limit -> (flows, the rate of each)."""
        return {g.limit: (g.count, min(g.limit, self.level)) for g in self._groups.values()}

    def _advance(self, now: float) -> None:
        if self._sharing:
            self._virtual += self.level * (now - self.now)
        self.now = now

    def _clock(self, fair: bool) -> float:
        return self._virtual if fair else self.now

    def _work(self, group: _Group) -> float:
        return group.work + group.slope * (self._clock(group.fair) - group.clock)

    def _count(self, group: _Group, change: int) -> None:
        group.count += change
        if group.fair:
            self._sharing += change
        else:
            self._spare -= change * int(group.units)

    def _remove(self, flow: Flow, group: _Group) -> None:
        flow.group = None
        self._count(group, -1)
        if group.count:
            self._push_end(group)
        else:
            group.stamp = -1
            del self._groups[group.limit]

    def _push_end(self, group: _Group) -> None:
        head = group.head()
        assert head is not None
        self._number += 1
        group.stamp = self._number
        end = group.clock + (head.end - group.work) / group.slope
        self._push(self._ends[group.fair], (end, group.stamp, group))

    def _push_limit(self, group: _Group) -> None:
        self._number += 1
        key = group.limit if group.fair else -group.limit
        self._push(self._limits[group.fair], (key, self._number, group))

    def _push(self, heap: list[_Entry], entry: _Entry) -> None:
        heappush(heap, entry)
        if len(heap) > 64 + 4 * len(self._groups):  # mostly entries that are true no more
            ends = heap is self._ends[True] or heap is self._ends[False]
            heap[:] = [old for old in heap if old[2].count and (not ends or old[2].stamp == old[1])]
            heapify(heap)

    def _next(self, fair: bool) -> float:
        """Return when the first of the groups at (or below) the level ends, forgetting old ones."""
        heap = self._ends[fair]
        while heap and heap[0][2].stamp != heap[0][1]:
            heappop(heap)
        if not heap:
            return math.inf
        end = heap[0][0]
        return max(self.now, self.now + (end - self._virtual) / self.level if fair else end)

    def _level(self) -> None:
        """Move groups across the level until every limited one is below it and no other is."""
        if not self._groups:
            self._clear()
        while True:
            lowest, highest = self._top(True), self._top(False)
            if lowest is not None and lowest.units * self._sharing <= self._spare:
                self._move(lowest)
            elif highest is not None and (
                highest.units * self._sharing > self._spare if self._sharing else self._spare < 0
            ):
                self._move(highest)
            else:
                break
        self.level = self._spare / (self._sharing * _SCALE) if self._sharing else math.inf

    def _top(self, fair: bool) -> _Group | None:
        heap = self._limits[fair]
        while heap and not heap[0][2].count:
            heappop(heap)
        return heap[0][2] if heap else None

    def _move(self, group: _Group) -> None:
        heappop(self._limits[group.fair])
        count = group.count
        work = self._work(group)
        self._count(group, -count)
        group.fair = not group.fair
        group.work, group.clock = work, self._clock(group.fair)
        self._count(group, count)
        self._push_limit(group)
        self._push_end(group)
