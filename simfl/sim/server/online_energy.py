"""What the devices of a group that are online would draw if all of them idled."""

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from simfl.core.types import Flags, Ids
from simfl.sim.errand import Errand
from simfl.sim.fleet import DeviceGroup
from simfl.sim.server.paused import Paused

_GOLDEN = (math.sqrt(5) - 1) / 2
_PARTS = 16
"""Looks at a stretch of time, at most."""
_SHORTEST = 1e-3
"""Looks are no closer than this share of the time so far: a long run costs few of them."""
_WATCHED = 1000
"""Devices of a group that are looked at: of a larger one, they stand for all."""


class OnlineEnergy:
    """Joules of a group, from looks at who is online (and whose battery is not empty).

    Who comes and goes is known of all times, so looks are spread evenly over a stretch of time,
    wherever its ends are: rounds begin and end when somebody is there.  They are at another place
    in each stretch, for rounds may keep step with those who come and go.  Batteries are known of
    the present only, and remember until the next look when they ran empty and were charged again.

    Args:
        group: the devices.
    """

    def __init__(self, group: DeviceGroup) -> None:
        self._group = group
        self._devices = group.some(_WATCHED)
        self._stretches = 0
        self._batteries = batteries = group.batteries
        # Of each device whether its battery was not empty at its last turn that is known.
        self._charged = np.ones(0, np.bool_) if batteries is None else batteries.watch()
        # Who is at work, or through with it, where work may be paused.
        self._at_work: dict[int, Errand] = {}
        self._paused = Paused(group)

    def start(self, errand: Errand) -> None:
        """Record that a device is at work from now on: it counts as online even while away."""
        if self._group.batteries is None:
            self._paused.start(errand)
        else:
            self._at_work[errand.device - self._group.first] = errand

    def end(self, errand: Errand) -> None:
        """Record that a device that was at work no longer takes part."""
        if self._group.batteries is None:
            self._paused.end(errand)
        else:
            del self._at_work[errand.device - self._group.first]

    def joules(self, since_s: float, now_s: float) -> float:
        """Return what they draw between two instants.

        Args:
            since_s: the last instant that this was asked about.
            now_s: the present.  Nobody has started or ended work in between.
        """
        looks = self._looks(since_s, now_s)
        if self._group.batteries is None:  # availability says it all
            online = [self._online(look_s) + self._paused.count(look_s) for look_s in looks]
        else:
            online = self._charged_online(looks, now_s)
        watts = [self._group.power.idle * devices for devices in online]
        return sum(watts) / len(looks) * (now_s - since_s)

    def _looks(self, since_s: float, now_s: float) -> list[float]:
        """Return a look in each of the equal parts that the time between two instants is cut into.

        The first stretch's are in the middle of parts.
        """
        length_s, place = now_s - since_s, (self._stretches * _GOLDEN + 0.5) % 1
        self._stretches += 1
        shortest_s = _SHORTEST * now_s  # 0 at the smallest of numbers
        parts = min(_PARTS, max(1, math.ceil(length_s / shortest_s))) if shortest_s else 1
        return [since_s + length_s * (part + place) / parts for part in range(parts)]

    def _online(self, time_s: float) -> float:
        """Return how many are online at an instant, whatever their batteries."""
        online = self._group.schedule.online(self._devices, time_s)
        return self._group.count * (int(np.count_nonzero(online)) / len(online))

    def _charged_online(self, looks: Sequence[float], now_s: float) -> list[float]:
        """Return how many were online at each look, and their batteries not empty, or at work."""
        group = self._group
        working: Ids = np.fromiter(self._at_work, np.int64, len(self._at_work))
        over_s = np.array([errand.over_s for errand in self._at_work.values()])
        charged = self._charge(np.append(self._devices, working), looks, now_s)
        result = []
        for look, look_s in enumerate(looks):
            others, own = np.split(charged[:, look], [len(self._devices)])
            online = group.schedule.online(self._devices, look_s)
            devices = group.count * (int(np.count_nonzero(others & online)) / len(online))
            busy = look_s < over_s
            there = own[busy] & group.schedule.online(working[busy], look_s)
            result.append(devices + int(np.count_nonzero(~there)))
        return result

    def _charge(self, devices: Ids, looks: Sequence[float], now_s: float) -> Flags:
        """Return `(m, looks)` whether the battery of each was not empty then.

        Args:
            devices: `(m,)` who; some may be there twice.
            looks: `(looks,)` instants since the last time that this was asked, in order.
            now_s: the present.
        """
        assert self._batteries is not None
        turned: dict[int, list[tuple[float, bool]]] = {}
        for device, at_s, charged in self._batteries.turns(devices, now_s):
            turned.setdefault(device, []).append((at_s, charged))
        state = np.repeat(self._charged[devices, None], len(looks), axis=1)
        for place, device in enumerate(devices.tolist() if turned else ()):
            for at_s, charged in turned.get(device, ()):
                state[place, bisect_left(looks, at_s) :] = charged
        for device, turns in turned.items():
            self._charged[device] = turns[-1][1]
        return state
