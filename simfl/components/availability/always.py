"""Devices that are always online."""

from pathlib import Path

import numpy as np
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule, availabilities
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Ids


@availabilities.register("always")
class Always(Availability):
    """Never offline.  Cost: nothing."""

    @override
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        return _AlwaysOnline()


class _AlwaysOnline:
    def online(self, devices: Ids, now_s: float) -> Flags:
        return np.ones(len(devices), dtype=np.bool_)

    def next_change_s(self, device: int, now_s: float) -> float:
        return np.inf

    def next_online_s(self, now_s: float) -> float:
        return now_s
