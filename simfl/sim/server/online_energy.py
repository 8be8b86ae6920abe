"""What the devices of a group that are online would draw if all of them idled."""

import math
from collections.abc import Iterable

import numpy as np

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
    present only, and what a group with batteries draws changes evenly from one end to the other.

    Args:
        group: the devices.
    """

    def __init__(self, group: DeviceGroup) -> None:
        self._group = group
        self._devices = group.some(_WATCHED)
        self._last_w = self._watts(0.0, [])

    def joules(self, since_s: float, now_s: float, at_work: Iterable[Errand]) -> float:
        """Return what they draw between two instants.

        Args:
            since_s: the last instant that this was asked about.
            now_s: the present.
            at_work: who has taken part all the time or is through with it; who is away and whose
                work is paused counts as online.
        """
        first = self._group.first
        paused = [
            errand
            for errand in at_work
            if self._group.on_offline != "abort" and 0 <= errand.device - first < self._group.count
        ]
        if self._group.batteries is None:
            middles = _middles(since_s, now_s)
            mean_w = sum(self._watts(middle_s, paused) for middle_s in middles) / len(middles)
        else:
            before_w, self._last_w = self._last_w, self._watts(now_s, paused)
            mean_w = (before_w + self._last_w) / 2
        return mean_w * (now_s - since_s)

    def _watts(self, at_s: float, paused: Iterable[Errand]) -> float:
        """Return what they draw at an instant."""
        group = self._group
        online = group.idling(self._devices, at_s)
        devices = group.count * (np.count_nonzero(online) / len(online))
        working = [
            errand.device - group.first
            for errand in paused
            if errand.started_s <= at_s < _over_s(errand)
        ]
        if working:
            devices += np.count_nonzero(~group.idling(np.array(working), at_s))
        return group.power.idle * float(devices)


def _over_s(errand: Errand) -> float:
    """Return when a device has nothing more to do for `errand` (inf: not yet)."""
    return errand.landed_s if errand.ended_s is None else min(errand.ended_s, errand.landed_s)


def _middles(since_s: float, now_s: float) -> list[float]:
    """Return the middles of the equal parts that the time between two instants is cut into."""
    length_s = now_s - since_s
    parts = min(_PARTS, max(1, math.ceil(length_s / (_SHORTEST * now_s))))
    return [since_s + length_s * (part + 0.5) / parts for part in range(parts)]
