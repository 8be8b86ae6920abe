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
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from operator import attrgetter
from typing import Any

_SCALE = 2**40
"""Limits are added up as integers, in 1/2**40 bit/s, so that no rounding error builds up."""

_Entry = tuple[float, int, Any]
_NUMBER = attrgetter("number")


def in_units(bps: float) -> float:
    """Return a rate as a whole number of units, at least one (inf: inf)."""
    return bps if bps == math.inf else round(bps * _SCALE) or 1


def bit_rate(spare: float, sharing: int) -> float:
    """Return the bit/s of each of `sharing` flows that divide `spare` units (none: inf)."""
    return spare / (sharing * _SCALE) if sharing else math.inf


class Flow:
    """A transfer under way; `owner` is whatever the caller wants back when it ends."""

    __slots__ = ("bits", "end", "group", "number", "owner")

    def __init__(self, group: "Group", end: float, bits: float, number: int, owner: Any) -> None:
        self.group: Group | None = group
        self.end = end
        self.bits = bits
        self.number = number
        self.owner = owner


class Group:
    """Flows with one limit: they move the same bits at the same time."""

    __slots__ = ("clock", "count", "fair", "flows", "limit", "link", "stamp", "units", "work")

    def __init__(self, link: "FairLink", limit: float, clock: float, fair: bool) -> None:
        self.link = link
        self.limit = limit
        self.units = in_units(limit)
        self.fair = fair
        self.work, self.clock = 0.0, clock  # the work done when its clock showed this
        self.flows: list[tuple[float, int, Flow]] = []
        self.count = 0
        self.stamp = -1  # number of the entry in `_ends` that is still true

    @property
    def slope(self) -> float:
        """The bits that one of its flows moves per unit of its clock."""
        return 1.0 if self.fair else self.limit

    def head(self) -> Flow:
        """Return the flow that ends first, forgetting those that left; somebody has not."""
        flows = self.flows
        while flows[0][2].group is None:
            heappop(flows)
        return flows[0][2]


class FairLink:
    """A link of `capacity` bit/s.  Instants must not decrease from call to call."""

    def __init__(self, capacity: float, numbers: Iterator[int] | None = None) -> None:
        self._numbers = count(1) if numbers is None else numbers
        self._units = in_units(capacity)
        self.level = math.inf
        self.now = 0.0
        self._clear()

    def __len__(self) -> int:
        return sum(group.count for group in self._groups.values())

    def _clear(self) -> None:
        self._virtual = 0.0  # bits that a flow at the level has moved so far
        self._groups: dict[float, Group] = {}
        self._limited = 0  # units of capacity that the limited groups take
        self._sharing = 0  # flows at the level
        # By whether a group is at the level: by when its head ends on its clock, and by limit (the
        # smallest first at the level, the largest first below it).
        self._ends: dict[bool, list[_Entry]] = {True: [], False: []}
        self._limits: dict[bool, list[_Entry]] = {True: [], False: []}
        self._ranked = False  # groups stand among `_limits` only once there is no room for all

    def join(self, now: float, bits: float, limit: float, owner: Any = None) -> Flow:
        """Let a flow of `bits` start now."""
        self._advance(now)
        number = next(self._numbers)
        group = self._groups.get(limit)
        if group is None:
            fair = limit == math.inf
            group = self._groups[limit] = Group(self, limit, self._clock(fair), fair)
            flow = Flow(group, bits, bits, number, owner)
            group.flows.append((bits, number, flow))
            self._count(group, 1)
            if self._ranked:
                self._push_limit(group)
            self._push_end(group)
        else:
            flow = Flow(group, self._work(group) + bits, bits, number, owner)
            heappush(group.flows, (flow.end, number, flow))
            self._count(group, 1)
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
        self._units = in_units(capacity)
        self._level()

    def next_end(self) -> float:
        """Return the instant at which the next flow ends, if none starts or leaves (inf: none)."""
        end = self._next(False)
        return min(self._next(True), end) if self._sharing else end

    def finish(self, now: float) -> list[Flow]:
        """Take the flows that end by `now`, no later than `next_end`, off; return them by start."""
        done = self.take(now)
        self.settle(now)
        if len(done) > 1:
            done.sort(key=_NUMBER)
        return done

    def take(self, now: float) -> list[Flow]:
        """Take the flows that end by `now` off, to `settle` afterwards."""
        done: list[Flow] = []
        for fair in (True, False) if self._sharing else (False,):
            while self._next(fair) <= now:
                group: Group = self._ends[fair][0][2]
                flow = group.head()
                self._remove(flow, group)
                done.append(flow)
        return done

    def settle(self, now: float) -> None:
        """Give the rest what those leave whom `take` took off."""
        self._advance(now)
        self._level()

    def rates(self) -> dict[float, tuple[int, float]]:
        """Return limit -> (flows, the rate of each)."""
        return {g.limit: (g.count, min(g.limit, self.level)) for g in self._groups.values()}

    def _advance(self, now: float) -> None:
        if self._sharing:
            self._virtual += self.level * (now - self.now)
        self.now = now

    def _clock(self, fair: bool) -> float:
        return self._virtual if fair else self.now

    def _work(self, group: Group) -> float:
        return group.work + group.slope * (self._clock(group.fair) - group.clock)

    def _count(self, group: Group, change: int) -> None:
        group.count += change
        if group.fair:
            self._sharing += change
        else:
            self._limited += change * int(group.units)

    def _remove(self, flow: Flow, group: Group) -> None:
        flow.group = None
        self._count(group, -1)
        if group.count:
            self._push_end(group)
        else:
            group.stamp = -1
            del self._groups[group.limit]

    def _push_end(self, group: Group) -> None:
        """Note when the head of `group` ends."""
        group.stamp = next(self._numbers)
        slope = 1.0 if group.fair else group.limit
        end = group.clock + (group.head().end - group.work) / slope
        self._push(self._ends[group.fair], (end, group.stamp, group))

    def _push_limit(self, group: Group) -> None:
        key = group.limit if group.fair else -group.limit
        self._push(self._limits[group.fair], (key, next(self._numbers), group))

    def _push(self, heap: list[_Entry], entry: _Entry) -> None:
        heappush(heap, entry)
        if len(heap) > 64 + 4 * len(self._groups):  # mostly entries that are true no more
            ends = heap is self._ends[True] or heap is self._ends[False]
            heap[:] = [old for old in heap if old[2].count and (not ends or old[2].stamp == old[1])]
            heapify(heap)

    def _next(self, fair: bool) -> float:
        """Return when the first of the groups at (or below) the level ends."""
        end = self._first_end(fair)
        if not fair or end == math.inf:
            return end if end > self.now else self.now
        return max(self.now, self.now + (end - self._virtual) / self.level)

    def _first_end(self, fair: bool) -> float:
        """Return the same on the groups' clock, forgetting old ones."""
        heap = self._ends[fair]
        while heap and heap[0][2].stamp != heap[0][1]:
            heappop(heap)
        return heap[0][0] if heap else math.inf

    def _level(self) -> None:
        """Move groups across the level until every limited one is below it and no other is."""
        if not self._groups:
            self._clear()
        if not self._sharing and self._limited <= self._units:  # room for everybody, as mostly
            self.level = math.inf
            return
        while (group := self._misplaced(self._units - self._limited, self._sharing)) is not None:
            self._move(group)
        self.level = bit_rate(self._units - self._limited, self._sharing)

    def _misplaced(self, spare: float, sharing: int) -> Group | None:
        """Return a group on the wrong side of the level ``spare / sharing``, if there is one."""
        lowest, highest = self._top(True), self._top(False)
        if lowest is not None and lowest.units * sharing <= spare:
            return lowest
        if highest is not None and (highest.units * sharing > spare if sharing else spare < 0):
            return highest
        return None

    def _top(self, fair: bool) -> Group | None:
        if not self._ranked:
            self._ranked = True
            for group in self._groups.values():
                self._push_limit(group)
        heap = self._limits[fair]
        while heap and not heap[0][2].count:
            heappop(heap)
        return heap[0][2] if heap else None

    def _move(self, group: Group) -> None:
        heappop(self._limits[group.fair])
        count = group.count
        work = self._work(group)
        self._count(group, -count)
        group.fair = not group.fair
        group.work, group.clock = work, self._clock(group.fair)
        self._count(group, count)
        self._push_limit(group)
        self._push_end(group)
