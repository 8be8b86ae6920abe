"""The batteries of a group: how full each is, found when somebody asks.

Between two changes of a device's power, or of its charger being plugged in, its charge is linear in
time; so no process watches over it, and the instant at which it will be empty is known in advance.
"""

import math

import numpy as np
from numpy.typing import NDArray

from simfl.components.availability.base import OnlineSchedule
from simfl.components.availability.spells import Instants, spells_of
from simfl.core.types import Floats, Ids

_NOTHING = 1e-9
"""Share of the capacity that rounding may leave or take."""

_CHANGES = 1_000
"""Changes of a charger, the battery too empty before each, after which a device is taken never to
return unless its charge has grown by `_GAIN`: a charger that is plugged in too seldom never fills
it, however long one looks ahead."""

_GAIN = 0.01
"""Share of the capacity."""

Turn = tuple[int, float, bool]
"""A device, the instant from which on its battery is empty or is not, and whether it is charged."""


class Batteries:
    """The batteries of the `n` devices of one group.

    Cost: O(1) for each change of the charger since a device was last asked about.

    Args:
        capacity_j: `(n,)` charge when full, joules.
        start: `(n,)` share of it at the start.
        minimum: share under which a device takes no work.
        charge_w: what a charger gives.
        idle_w: what an idle device draws, online or not.
        plugged: when chargers are plugged in (None: never).
    """

    def __init__(
        self,
        capacity_j: Floats,
        start: Floats,
        minimum: float,
        charge_w: float,
        idle_w: float,
        plugged: OnlineSchedule | None,
    ) -> None:
        n = len(capacity_j)
        self._capacity_j = capacity_j
        self._level_j: Floats = capacity_j * start
        self._minimum_j: Floats = capacity_j * minimum
        self._least_j: Floats = self._minimum_j * (1 - _NOTHING)
        self._charge_w, self._idle_w, self._schedule = charge_w, idle_w, plugged
        self._draw_w: Floats = np.full(n, idle_w)
        self._at_s: Floats = np.zeros(n)
        self._empty_s: Floats = np.where(self._level_j > 0, math.inf, 0.0)
        self._turns: list[Turn] | None = None
        self._plugged: NDArray[np.bool_] = np.zeros(n, dtype=np.bool_)
        # Until when that holds; a first look is due where there is a charger at all.
        self._until_s: Floats = np.full(n, math.inf if plugged is None else 0.0)

    def level_j(self, devices: Ids, now_s: float) -> Floats:
        """Return `(m,)` the charge of each of `devices` (indices in the group)."""
        changed = devices
        while len(changed := changed[self._until_s[changed] <= now_s]):
            assert self._schedule is not None
            at_s = self._until_s[changed]
            self._integrate(changed, at_s)
            self._plugged[changed], self._until_s[changed] = spells_of(
                self._schedule, changed, at_s
            )
        self._integrate(devices, now_s)
        return self._level_j[devices]

    def watch(self) -> NDArray[np.bool_]:
        """Remember from now on, for `turns`, when batteries run empty and when they charge again.

        Returns:
            `(n,)` whether each is not empty, as far as is known.
        """
        self._turns = []
        return self._level_j > 0

    def turns(self, devices: Ids, now_s: float) -> list[Turn]:
        """Return what became of batteries since this was last asked, each device's in order.

        All that `devices` `(m,)` did by now is in it, and what is known of others.
        """
        self.level_j(devices, now_s)
        turns, self._turns = self._turns or [], []
        return turns

    def emptied_s(self, device: int, now_s: float) -> float:
        """Return when `device` was empty first since it draws what it does (inf: never).

        It stays so when it is charged: what rested on its charge has ended.
        """
        self.level_j(np.array([device]), now_s)
        return float(self._empty_s[device])

    def able(self, devices: Ids, now_s: float) -> NDArray[np.bool_]:
        """Return `(m,)` whether each of `devices` has charge enough to take work."""
        return self.level_j(devices, now_s) >= self._least_j[devices]

    def draw(self, device: int, now_s: float, watts: float | None) -> None:
        """Let `device` draw so much from now on (None: what it draws when idle)."""
        if self.level_j(np.array([device]), now_s)[0] > 0:
            self._empty_s[device] = math.inf
        self._draw_w[device] = self._idle_w if watts is None else watts

    def empties_s(self, device: int, now_s: float, horizon_s: float) -> float:
        """Return when `device` will be empty if it goes on like this (inf: not by `horizon_s`)."""
        charge_j = float(self.level_j(np.array([device]), now_s)[0])
        plugged, until_s = bool(self._plugged[device]), float(self._until_s[device])
        while True:
            watts = self._charge_w * plugged - float(self._draw_w[device])
            empty_s = now_s - charge_j / watts if watts < 0 else math.inf
            if min(empty_s, until_s) > horizon_s or empty_s <= until_s:
                return empty_s if empty_s <= horizon_s else math.inf
            full_j = float(self._capacity_j[device])
            charge_j = min(charge_j + watts * (until_s - now_s), full_j)
            now_s = until_s
            plugged, until_s = self._look(device, now_s)

    def returns_s(self, device: int, now_s: float, base: OnlineSchedule) -> float:
        """Return when idle `device` is next charged enough and online by `base` (inf: never).

        Never, too, if its battery is too empty at `_CHANGES` changes of its charger in which it has
        not gained `_GAIN`.
        """
        charge_j = float(self.level_j(np.array([device]), now_s)[0])
        least_j, full_j = float(self._least_j[device]), float(self._capacity_j[device])
        enough_j = float(self._minimum_j[device])
        plugged, until_s = bool(self._plugged[device]), float(self._until_s[device])
        if charge_j < least_j and self._charge_w <= self._idle_w:
            return math.inf
        too_empty, highest_j = 0, charge_j
        while too_empty < _CHANGES:
            watts = self._charge_w * plugged - self._idle_w
            first_s, last_s = now_s, until_s
            if charge_j < least_j:
                first_s = now_s + (enough_j - charge_j) / watts if watts > 0 else math.inf
            elif watts < 0:
                last_s = min(until_s, now_s + (charge_j - least_j) / -watts)
            if first_s < last_s:
                online = base.online(np.array([device]), first_s)[0]
                online_s = first_s if online else base.next_change_s(device, first_s)
                if online_s < last_s or online_s == math.inf:
                    return online_s
            if until_s == math.inf:
                break
            too_empty += charge_j < least_j or last_s < until_s
            charge_j = min(max(charge_j + watts * (until_s - now_s), 0.0), full_j)
            if charge_j >= highest_j + _GAIN * full_j:
                too_empty, highest_j = 0, charge_j
            now_s = until_s
            plugged, until_s = self._look(device, now_s)
        return math.inf

    def _look(self, device: int, at_s: float) -> tuple[bool, float]:
        """Return whether the charger is plugged in, and until when that lasts."""
        if self._schedule is None:
            return False, math.inf
        plugged = bool(self._schedule.online(np.array([device]), at_s)[0])
        return plugged, float(self._schedule.next_change_s(device, at_s))

    def _integrate(self, devices: Ids, now_s: Instants) -> None:
        """Bring the charge of `devices` `(m,)` up to now, since when their power is constant."""
        watts = self._charge_w * self._plugged[devices] - self._draw_w[devices]
        full_j = self._capacity_j[devices]
        before_j = self._level_j[devices]
        level_j = before_j + watts * (now_s - self._at_s[devices])
        empty = level_j < _NOTHING * full_j
        level_j[empty] = 0.0
        self._level_j[devices] = np.minimum(level_j, full_j)
        if self._turns is not None:
            self._remember(devices, before_j, watts, now_s)
        emptied = empty & (self._empty_s[devices] == math.inf)
        lasted_s = before_j[emptied] / np.maximum(-watts[emptied], 1e-300)
        by_s = now_s[emptied] if isinstance(now_s, np.ndarray) else now_s
        self._empty_s[devices[emptied]] = np.minimum(self._at_s[devices[emptied]] + lasted_s, by_s)
        self._at_s[devices] = now_s

    def _remember(self, devices: Ids, before_j: Floats, watts: Floats, now_s: Instants) -> None:
        """Add the turns of `devices`, before time goes on for them."""
        assert self._turns is not None
        charged, was = self._level_j[devices] > 0, before_j > 0
        for place in np.flatnonzero(charged != was).tolist():
            device, turned_s = devices.item(place), self._at_s.item(devices.item(place))
            if was[place]:
                by_s = now_s.item(place) if isinstance(now_s, np.ndarray) else now_s
                turned_s = min(turned_s + before_j.item(place) / -watts.item(place), by_s)
            self._turns.append((device, turned_s, not was[place]))
