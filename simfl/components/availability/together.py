"""Devices that are there only while several things are so at once: online, and plugged in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule
from simfl.components.availability.spells import Instants, Spells, spells_of
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Floats, Ids

_CHANGES = 1_000
"""Changes of those that keep a device away after which it is taken never to be there: what repeats
itself in step may never meet."""


@dataclass(frozen=True)
class Together:
    """What says when the devices of a group are there, all of it at once.

    Attributes:
        parts: availabilities, each with the name that its draws go by.
    """

    parts: Sequence[tuple[str, Availability]]

    @property
    def ever_online(self) -> bool:
        """Whether a device can ever be there, as far as each part tells."""
        return all(part.ever_online for _, part in self.parts)

    def longest_session_s(self, folder: Path) -> float:
        """Return how long a device can stay at the most; see `Availability.longest_session_s`."""
        return min(part.longest_session_s(folder) for _, part in self.parts)

    def most_at_once(self, devices: int, seeds: Seeds, folder: Path) -> int:
        """Return how many can be there at once, at the most; see `Availability.most_at_once`."""
        return min(part.most_at_once(devices, name, seeds, folder) for name, part in self.parts)

    def schedule(self, devices: int, seeds: Seeds, folder: Path) -> OnlineSchedule:
        """Return the schedule of `devices` devices; see `Availability.schedule`."""
        schedules = [part.schedule(devices, name, seeds, folder) for name, part in self.parts]
        return all_of(schedules, devices)


def all_of(schedules: Sequence[OnlineSchedule], devices: int) -> OnlineSchedule:
    """Return when each of `devices` devices is online by all of these schedules at once."""
    return schedules[0] if len(schedules) == 1 else _AllOf(schedules, devices)


class _AllOf(Spells):
    """Cost: that of all schedules, for each of their changes while a device is away."""

    def __init__(self, schedules: Sequence[OnlineSchedule], devices: int) -> None:
        super().__init__(devices)
        self._schedules = schedules

    @override
    def spells(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        there, until = self._state(devices, now_s)
        away = np.flatnonzero(~there & (until < math.inf))
        for _ in range(_CHANGES):
            if not len(away):
                break
            back, later = self._state(devices[away], until[away])
            away, later = away[~back], later[~back]
            until[away] = later
            away = away[later < math.inf]
        until[away] = math.inf
        return there, until

    def _state(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        """Return `(m,)` who is there, and `(m,)` until when that is sure to last at least."""
        there = np.ones(len(devices), dtype=np.bool_)
        stays, away = np.full(len(devices), math.inf), np.zeros(len(devices))
        for schedule in self._schedules:
            on, until = spells_of(schedule, devices, now_s)
            there &= on
            stays = np.minimum(stays, np.where(on, until, math.inf))
            away = np.maximum(away, np.where(on, 0.0, until))
        return there, np.where(there, stays, away)
