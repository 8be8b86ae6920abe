"""What the devices that take no part draw, without asking each of them."""

import itertools
import math
from functools import partial
from operator import itemgetter

from simfl.sim.errand import Errand
from simfl.sim.fleet import Fleet
from simfl.sim.server.online_energy import OnlineEnergy
from simfl.sim.server.state import RunState

_ROUNDING = 1e-10
"""Share of all joules so far that the sums of them may be off by, rounded as they are: 1e-12 of
them remained of 10,000 rounds."""


class IdleEnergy:
    """Idle energy of all devices online, less that of those that take part.

    A device that takes part counts as online until it is through, even while it is away and its
    work is paused, and is taken off for just as long.

    Args:
        state: of the run.
        fleet: the devices.
    """

    def __init__(self, state: RunState, fleet: Fleet) -> None:
        self._state = state
        self._looked_s, self._online_j = 0.0, 0.0
        # By the first device of each group.
        self._online = {
            group.first: OnlineEnergy(group) for group in fleet.groups if group.power.idle > 0
        }
        self._told_j = 0.0
        self._booked_j = 0.0
        # Of who takes part: the power w of each, and the sum of w * when it started.
        self._at_work: dict[int, Errand] = {}
        self._watts = self._watts_by_start = 0.0
        # Of these, with the number of its start, who may leave before that is booked.
        self._starts = itertools.count()
        self._sent: dict[int, tuple[int, Errand]] = {}

    def start(self, errand: Errand) -> None:
        """Record that a device takes part from now on, and no longer waits for what was before."""
        if (watts := errand.group.power.idle) == 0:
            return
        if errand.group.on_offline != "abort":
            self.look()  # before those change whose work may be paused
        now_s = self._state.timeline.now
        if (before := self._at_work.get(errand.device)) is not None:
            before.free_s = min(before.free_s, now_s)
            self.end(before)
        self._at_work[errand.device] = errand
        errand.when_sent = partial(self._has_sent, next(self._starts))
        if errand.group.on_offline != "abort":
            self._online[errand.group.first].start(errand)
        self._watts += watts
        self._watts_by_start += watts * now_s

    def end(self, errand: Errand) -> None:
        """Record that a device no longer takes part, if it did."""
        if self._at_work.get(errand.device) is not errand:
            return
        if errand.group.on_offline != "abort":
            self.look()
            self._online[errand.group.first].end(errand)
        del self._at_work[errand.device]
        self._sent.pop(errand.device, None)
        group, now_s = errand.group, self._state.timeline.now
        watts = group.power.idle
        if group.batteries is not None and errand.ended_s is not None:  # it waits no longer
            empty_s = group.batteries.emptied_s(errand.device - group.first, now_s)
            errand.free_s = min(errand.free_s, max(empty_s, errand.started_s))
        ended_s = now_s if errand.ended_s is None else errand.ended_s
        if errand.landed_s < math.inf:  # looked for, or called off, after the device had left
            ended_s = min(ended_s, errand.free_s)
        self._booked_j += watts * (ended_s - errand.started_s + errand.waited_s(now_s))
        self._watts -= watts
        self._watts_by_start -= watts * errand.started_s

    def _has_sent(self, start: int, errand: Errand) -> None:
        if self._at_work.get(errand.device) is errand:
            self._sent[errand.device] = start, errand

    def look(self) -> None:
        """See how many were online since the last look."""
        now_s = self._state.timeline.now
        if now_s > self._looked_s:
            for online in self._online.values():
                self._online_j += online.joules(self._looked_s, now_s)
            self._looked_s = now_s

    def tell(self) -> float:
        """Return the joules since last time; what is below zero, by lack of looks, comes later.

        So does what rounding may have left of sums that are alike.
        """
        self.look()
        taking_part_j = self._watts * self._looked_s - self._watts_by_start
        # But for who has left, and only waits to be booked: summed up in the order of their starts.
        for _, errand in sorted(self._sent.values(), key=itemgetter(0)):
            if errand.free_s < self._looked_s:
                taking_part_j -= errand.group.power.idle * (self._looked_s - errand.free_s)
        total_j = self._online_j - self._booked_j - taking_part_j
        fresh_j = total_j - self._told_j
        if fresh_j <= _ROUNDING * self._online_j:
            return 0.0
        self._told_j += fresh_j
        return fresh_j
