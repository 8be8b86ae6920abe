"""The seam of availability: when each device of a group is online.  Pure functions of time.

A schedule answers questions about any device at any instant, in any order: who looks ahead asks
about later ones first.  Nobody pays for a device that nobody asks about.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Ids


@runtime_checkable
class OnlineSchedule(Protocol):
    """When the `n` devices of one group are online.  Instants are asked in any order."""

    def online(self, devices: Ids, now_s: float) -> Flags:
        """Return `(m,)` whether each of `devices` (indices in the group) is online at `now_s`.

        A device is online from the very instant its session starts and offline from the very
        instant it ends: sessions are half-open intervals [start, end).
        """

    def next_change_s(self, device: int, now_s: float) -> float:
        """Return the first instant after `now_s` at which `device` changes state (inf: never)."""

    def next_online_s(self, now_s: float) -> float:
        """Return the first instant >= `now_s` at which some device is online (inf: never)."""


class Availability(Component, ABC):
    """How the devices of a group come and go."""

    @property
    def ever_online(self) -> bool:
        """Whether a device can ever be online."""
        return True

    @property
    def by_name(self) -> bool:
        """Whether it has to know whose data each device holds, see `for_clients`."""
        return False

    def for_clients(self, names: Sequence[str]) -> Self:
        """Return how those devices come and go that hold the data of clients of these `names`.

        By default as all others.

        Raises:
            InputError: nothing is known of one of them.
        """
        return self

    def longest_session_s(self, folder: Path) -> float:
        """Return how long a device can stay online at the most (infinite: that is not known).

        Args:
            folder: where relative file names of the scenario are looked up.
        """
        return math.inf

    def most_at_once(self, devices: int, group: str, seeds: Seeds, folder: Path) -> int:
        """Return how many of the devices can be online at one instant, at the most.

        All of them where that is not known; arguments as of `schedule`.
        """
        return devices

    @abstractmethod
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        """Return the schedule of `devices` devices.

        Args:
            devices: how many there are.
            group: the group's name; draws are addressed ``("availability", group, ...)``.
            seeds: the run's root of randomness.
            folder: where relative file names of the scenario are looked up.
        """


availabilities: Registry[Availability] = Registry(
    "availability", "simfl.components.availability", "always"
)
