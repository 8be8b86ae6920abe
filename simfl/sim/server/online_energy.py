"""What the devices of a group that are online would draw if all of them idled."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np

from simfl.core.types import Flags, Ids
from simfl.sim.errand import Errand
from simfl.sim.fleet import DeviceGroup

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

    def joules(self, since_s: float, now_s: float, at_work: Iterable[Errand]) -> float:
        """Return what they draw between two instants.

        Args:
            since_s: the last instant that this was asked about.
            now_s: the present.
            at_work: who has taken part all the time or is through with it; who is away and whose
                work is paused counts as online.
        """
        group, looks = self._group, self._looks(since_s, now_s)
        if group.batteries is None and group.on_offline == "abort":  # availability says it all
            watts = [group.power.idle * self._online(look_s) for look_s in looks]
            return sum(watts) / len(looks) * (now_s - since_s)
        paused = [
            errand
            for errand in at_work
            if group.on_offline != "abort" and 0 <= errand.device - group.first < group.count
        ]
        working: Ids = np.array([errand.device - group.first for errand in paused], dtype=np.int64)
        watts = []
        charged = self._charge(np.append(self._devices, working), looks, now_s)
        for look, look_s in enumerate(looks):
            others, own = np.split(charged[:, look], [len(self._devices)])
            online = group.schedule.online(self._devices, look_s)
            devices = group.count * (int(np.count_nonzero(others & online)) / len(online))
            busy = [errand.started_s <= look_s < _over_s(errand) for errand in paused]
            if any(busy):
                there = own[busy] & group.schedule.online(working[busy], look_s)
                devices += len(there) - float(there.sum())
            watts.append(group.power.idle * devices)
        return sum(watts) / len(looks) * (now_s - since_s)

    def _looks(self, since_s: float, now_s: float) -> list[float]:
        """Return a look in each of the equal parts that the time between two instants is cut into.

        The first stretch's are in the middle of parts.
        """
        length_s, place = now_s - since_s, (self._stretches * _GOLDEN + 0.5) % 1
        self._stretches += 1
        parts = min(_PARTS, max(1, math.ceil(length_s / (_SHORTEST * now_s))))
        return [since_s + length_s * (part + place) / parts for part in range(parts)]

    def _online(self, time_s: float) -> float:
        """Return how many are online at an instant, whatever their batteries."""
        online = self._group.schedule.online(self._devices, time_s)
        return self._group.count * (int(np.count_nonzero(online)) / len(online))

    def _charge(self, devices: Ids, looks: Sequence[float], now_s: float) -> Flags:
        """Return `(m, looks)` whether the battery of each was not empty then, if it has one.

        Args:
            devices: `(m,)` who; some may be there twice.
            looks: `(looks,)` instants since the last time that this was asked, in order.
            now_s: the present.
        """
        if self._batteries is None:
            return np.ones((len(devices), len(looks)), dtype=np.bool_)
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


def _over_s(errand: Errand) -> float:
    """Return when a device has nothing more to do for `errand` (inf: not yet)."""
    return errand.landed_s if errand.ended_s is None else min(errand.ended_s, errand.landed_s)
