"""The fleet as arrays: a million idle devices cost a few numbers each and no process."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simfl.components.availability.base import OnlineSchedule
from simfl.core.types import Floats, Ids
from simfl.sim.battery import Batteries
from simfl.sim.occasions import Failures, Jitter

OnOffline = Literal["abort", "pause", "salvage"]
"""What going offline does to work under way: lose it; go on where it stopped once back online; keep
exactly the finished SGD steps and upload those once back online."""


@dataclass(frozen=True)
class Power:
    """Electrical power by phase, watts."""

    idle: float = 0.0
    download: float = 0.0
    compute: float = 0.0
    upload: float = 0.0


@dataclass(frozen=True)
class DeviceGroup:
    """Devices that come and go alike.

    Attributes:
        name: as in the scenario.
        first: id of its first device; ids are contiguous.
        count: how many there are.
        schedule: when they are online.
        on_offline: what leaving does to work under way.
        power: watts by phase.
        batteries: what limits work (None: all are on mains).
        cell: whose links they share (None: none's).
    """

    name: str
    first: int
    count: int
    schedule: OnlineSchedule
    on_offline: OnOffline = "abort"
    power: Power = field(default_factory=Power)
    batteries: Batteries | None = None
    cell: str | None = None

    def online(self, devices: Ids, now_s: float) -> NDArray[np.bool_]:
        """Return `(m,)` whether each of `devices` (indices in the group) is there for work."""
        online = self.schedule.online(devices, now_s)
        if self.batteries is None:
            return online
        online = online.copy()
        online[online] = self.batteries.able(devices[online], now_s)
        return online

    def some(self, most: int) -> Ids:
        """Return `(m,)` at most `most` of its devices (indices in the group), without a pattern."""
        return _spread(self.count, most)


@lru_cache(maxsize=256)
def _spread(count: int, most: int) -> Ids:
    golden = (math.sqrt(5) - 1) / 2
    shares = np.arange(most) * golden % 1
    devices = np.arange(count) if count <= most else (shares * count).astype(np.int64)
    devices.flags.writeable = False
    return devices


@dataclass(frozen=True)
class Fleet:
    """`n` devices.

    Attributes:
        groups: in id order.
        rate: `(n,)` compute rate, sample-units per second.
        downlink_bps: `(n,)` bit/s.
        uplink_bps: `(n,)` bit/s.
        latency_s: `(n,)` one-way, seconds.
        samples: `(n,)` training samples held.
        validation: `(n,)` samples kept aside for a local loss.
        memory_bytes: `(n,)` memory for training (None: enough everywhere).
        compute_jitter: how compute rates differ from training to training (None: not at all).
        failures: which trainings break off, and when (None: none).
    """

    groups: Sequence[DeviceGroup]
    rate: Floats
    downlink_bps: Floats
    uplink_bps: Floats
    latency_s: Floats
    samples: Ids
    validation: Ids
    memory_bytes: Floats | None = None
    compute_jitter: Jitter | None = None
    failures: Failures | None = None

    @cached_property
    def _starts(self) -> list[int]:
        return [group.first for group in self.groups]

    @cached_property
    def loss_samples(self) -> Ids:
        """`(n,)` samples that a local loss is measured on: those of training, if none are aside."""
        return np.where(self.validation > 0, self.validation, self.samples)

    def __len__(self) -> int:
        return len(self.rate)

    def group(self, device: int) -> DeviceGroup:
        """Return the group that `device` belongs to."""
        return self.groups[bisect_right(self._starts, device) - 1]

    def draw_rate(self, device: int) -> float:
        """Return the rate at which the training that `device` begins now goes, to its end."""
        rate: float = self.rate.item(device)
        if self.compute_jitter is None:
            return rate
        return self.compute_jitter.rate(device, "training", rate)

    def draw_failure(self, device: int) -> float | None:
        """Return after which share of it the training that `device` begins fails (None: never)."""
        return None if self.failures is None else self.failures.breaks_off(device)

    def can_hold(self, device: int, size: int) -> bool:
        """Return whether `device` has `size` bytes of memory for training."""
        return self.memory_bytes is None or bool(self.memory_bytes[device] >= size)

    def online(self, devices: Ids, now_s: float) -> NDArray[np.bool_]:
        """Return `(m,)` whether each of `devices` is online."""
        if len(self.groups) == 1:
            return self.groups[0].online(devices, now_s)
        result = np.zeros(len(devices), dtype=np.bool_)
        for group in self.groups:
            mine = (devices >= group.first) & (devices < group.first + group.count)
            if mine.any():
                result[mine] = group.online(devices[mine] - group.first, now_s)
        return result

    def leaves_s(self, device: int, now_s: float) -> float:
        """Return the instant at which `device`, online now, next goes offline (inf: never).

        An empty battery may end its work before.
        """
        group = self.group(device)
        return group.schedule.next_change_s(device - group.first, now_s)

    def returns_s(self, device: int, now_s: float) -> float:
        """Return the first instant >= `now_s` at which `device` is online (inf: never)."""
        group = self.group(device)
        index = device - group.first
        if group.online(np.array([index]), now_s)[0]:
            return now_s
        if group.batteries is not None:
            return group.batteries.returns_s(index, now_s, group.schedule)
        return group.schedule.next_change_s(index, now_s)

    def next_online_s(self, now_s: float) -> float:
        """Return an instant >= `now_s` before which nobody is online (inf: never).

        It is the first at which somebody is, unless batteries keep devices away for longer.
        """
        return min(group.schedule.next_online_s(now_s) for group in self.groups)
