"""Group-wide outages on top of any other availability: a power cut, a base station down."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule, availabilities
from simfl.components.availability.on_off import Alternating
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Ids
from simfl.core.units import Duration
from simfl.core.units.dimensions import SHORTEST_S

_GROUP = np.zeros(1, dtype=np.int64)
"""The one device whose sessions are the times without an outage."""


@availabilities.register("outages")
class Outages(Availability):
    """A device is online iff `base` says so and the group has no outage.

    Times between outages and their lengths are exponential.  Cost: O(1) beyond the base's.
    """

    base: Annotated[Availability, availabilities] = Field(
        "always", validate_default=True, description="availability without outages"
    )
    between: Duration = Field(
        ge=SHORTEST_S,
        examples=["12 h"],
        description="mean time from the end of an outage to the next",
    )
    lasting: Duration = Field(
        ge=SHORTEST_S, examples=["1 h"], description="mean length of an outage"
    )

    @property
    @override
    def ever_online(self) -> bool:
        return self.base.ever_online

    @property
    @override
    def by_name(self) -> bool:
        return self.base.by_name

    @override
    def for_clients(self, names: Sequence[str]) -> Self:
        return self.model_copy(update={"base": self.base.for_clients(names)})

    @override
    def longest_session_s(self, folder: Path) -> float:
        return self.base.longest_session_s(folder)

    @override
    def most_at_once(self, devices: int, group: str, seeds: Seeds, folder: Path) -> int:
        return self.base.most_at_once(devices, group, seeds, folder)

    @property
    def _depth(self) -> int:
        """How many outages lie below these."""
        return self.base._depth + 1 if isinstance(self.base, Outages) else 0

    @override
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        # Outages on top of outages are others.
        below = ("below",) * self._depth
        address = ("availability", group, "outages", *below)
        return _Both(
            self.base.schedule(devices, group, seeds, folder),
            Alternating(1, self.between, self.lasting, seeds, address),
        )


class _Both:
    """Two schedules at once; both must answer about any instant, in any order."""

    def __init__(self, base: OnlineSchedule, power: Alternating) -> None:
        self._base, self._power = base, power

    def _has_power(self, now_s: float) -> bool:
        return bool(self._power.online(_GROUP, now_s)[0])

    def online(self, devices: Ids, now_s: float) -> Flags:
        if not self._has_power(now_s):
            return np.zeros(len(devices), dtype=np.bool_)
        return self._base.online(devices, now_s)

    def next_change_s(self, device: int, now_s: float) -> float:
        only = np.array([device])
        if self.online(only, now_s)[0]:
            return min(self._base.next_change_s(device, now_s), self._power.next_change_s(0, now_s))
        while now_s < np.inf and not self.online(only, now_s)[0]:
            blocked = self._base if self._has_power(now_s) else self._power
            now_s = blocked.next_change_s(device if blocked is self._base else 0, now_s)
        return now_s

    def next_online_s(self, now_s: float) -> float:
        while now_s < np.inf:
            now_s = self._base.next_online_s(now_s)
            if now_s == np.inf or self._has_power(now_s):
                break
            now_s = self._power.next_change_s(0, now_s)
        return now_s
