"""What the devices of a group that are online would draw if all of them idled."""

import math
from collections.abc import Iterable

import numpy as np

from simfl.core.types import Floats, Ids
from simfl.sim.errand import Errand
from simfl.sim.fleet import DeviceGroup

_PARTS = 16
"""Looks at a stretch of time, at most."""
_SHORTEST = 1e-3
"""Looks are no closer than this share of the time so far: a long run costs few of them."""
_WATCHED = 1000
"""Devices of a group that are looked at: of a larger one, they stand for all."""


class OnlineEnergy:
    """Joules of a group, from looks at who is online (and whose battery is not empty).

    Who comes and goes is known of all times, so looks are spread evenly over a stretch of time,
    wherever its ends are: rounds begin and end when somebody is there.  Batteries are known of the
    present only: which of them are not empty changes evenly from one end to the other.

    Args:
        group: the devices.
    """

    def __init__(self, group: DeviceGroup) -> None:
        self._group = group
        self._devices = group.some(_WATCHED)
        # Of each device whether its battery was not empty when it was last looked at.
        self._charged = np.ones(0 if group.batteries is None else group.count, dtype=np.bool_)
        self._charge(self._devices, 0.0)

    def joules(self, since_s: float, now_s: float, at_work: Iterable[Errand]) -> float:
        """Return what they draw between two instants.

        Args:
            since_s: the last instant that this was asked about.
            now_s: the present.
            at_work: who has taken part all the time or is through with it; who is away and whose
                work is paused counts as online.
        """
        group, middles = self._group, _middles(since_s, now_s)
        if group.batteries is None and group.on_offline == "abort":  # availability says it all
            watts = [group.power.idle * self._online(middle_s) for middle_s in middles]
            return sum(watts) / len(middles) * (now_s - since_s)
        paused = [
            errand
            for errand in at_work
            if group.on_offline != "abort" and 0 <= errand.device - group.first < group.count
        ]
        working: Ids = np.array([errand.device - group.first for errand in paused], dtype=np.int64)
        before, after = self._charge(np.append(self._devices, working), now_s)
        watts = []
        for middle_s in middles:
            charged = before + (after - before) * ((middle_s - since_s) / (now_s - since_s))
            others, own = np.split(charged, [len(self._devices)])
            online = group.schedule.online(self._devices, middle_s)
            devices = group.count * float(others[online].sum() / len(online))
            busy = [errand.started_s <= middle_s < _over_s(errand) for errand in paused]
            if any(busy):
                there = own[busy] * group.schedule.online(working[busy], middle_s)
                devices += len(there) - float(there.sum())
            watts.append(group.power.idle * devices)
        return sum(watts) / len(middles) * (now_s - since_s)

    def _online(self, time_s: float) -> float:
        """Return how many are online at an instant, whatever their batteries."""
        online = self._group.schedule.online(self._devices, time_s)
        return self._group.count * (int(np.count_nonzero(online)) / len(online))

    def _charge(self, devices: Ids, now_s: float) -> tuple[Floats, Floats]:
        """Return `(m,)` whose batteries were not empty when last looked at, and whose are not now.

        1: it is not, or there is none; 0: it is.
        """
        if self._group.batteries is None:
            full = np.ones(len(devices))
            return full, full
        before = self._charged[devices].astype(np.float64)
        self._charged[devices] = self._group.batteries.level_j(devices, now_s) > 0
        return before, self._charged[devices].astype(np.float64)


def _over_s(errand: Errand) -> float:
    """Return when a device has nothing more to do for `errand` (inf: not yet)."""
    return errand.landed_s if errand.ended_s is None else min(errand.ended_s, errand.landed_s)


def _middles(since_s: float, now_s: float) -> list[float]:
    """Return the middles of the equal parts that the time between two instants is cut into."""
    length_s = now_s - since_s
    parts = min(_PARTS, max(1, math.ceil(length_s / (_SHORTEST * now_s))))
    return [since_s + length_s * (part + 0.5) / parts for part in range(parts)]
