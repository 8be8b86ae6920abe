"""What is drawn anew each time that a device does something: its rate, and whether it fails."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from simfl.core.seeds import Seeds

Law = Callable[[float], float]
"""What a number of the open interval (0, 1) stands for."""


@dataclass(frozen=True)
class VaryingGroup:
    """Devices for which something varies alike.

    Attributes:
        name: of the group.
        first: its first device.
        amount: how much, or how often, it varies (0: not at all).
        law: what is drawn, if another number than the amount decides of it.
    """

    name: str
    first: int
    amount: float
    law: Law | None = None


class Occasions:
    """Draws a number for each time that a device does something.

    The number depends on nothing but the group's name, the device's place in it, what it does and
    how often it has done so: whatever else happens, a device's tenth upload meets the same
    conditions.

    Args:
        groups: in the order of their devices.
        seeds: streams are addressed ``(purpose, group, doing)``.
        purpose: what varies.
    """

    def __init__(self, groups: Sequence[VaryingGroup], seeds: Seeds, purpose: str) -> None:
        self._groups, self._seeds, self._purpose = groups, seeds, purpose
        self._first = [group.first for group in groups]
        self._drawn: Counter[tuple[int, str]] = Counter()

    def amount(self, device: int) -> float:
        """Return how much what `device` does varies (0: not at all)."""
        return self._group(device).amount

    def uniform(self, device: int, doing: str) -> float:
        """Return the number, of the open interval (0, 1), of what `device` begins now."""
        group = self._group(device)
        number = self._drawn[device, doing]
        self._drawn[device, doing] += 1
        place = np.array([device - group.first])
        return float(self._seeds.uniforms((self._purpose, group.name, doing), place, number)[0])

    def law(self, device: int) -> Law | None:
        """Return the law of what `device` does, if its group has one."""
        return self._group(device).law

    def _group(self, device: int) -> VaryingGroup:
        return self._groups[bisect_right(self._first, device) - 1]


class Jitter(Occasions):
    """Draws ``exp(sigma * z)`` with z standard normal, anew for each transfer or training.

    That is the factor of a rate; its median is 1.  What varies is the "link" or "compute"; a
    group's amount is sigma.  A group may have a law of rates instead.
    """

    def varies(self, device: int) -> bool:
        """Return whether the rates of `device` differ from time to time."""
        return self.amount(device) > 0

    def factor(self, device: int, doing: str) -> float:
        """Return the factor of the rate at which `device` does what it begins now, to its end."""
        from scipy.special import ndtri  # slow to import: scenarios are checked without it

        if not (sigma := self.amount(device)):
            return 1.0
        return math.exp(sigma * float(ndtri(self.uniform(device, doing))))

    def rate(self, device: int, doing: str, nominal: float) -> float:
        """Return the rate at which `device` does what it begins now, to its end.

        Args:
            device: of the fleet.
            doing: what it begins.
            nominal: its rate where nothing varies.
        """
        if (law := self.law(device)) is not None:
            return law(self.uniform(device, doing))
        return nominal * self.factor(device, doing)


class Failures(Occasions):
    """Draws which trainings fail, and when; a group's amount is the share of those that do.

    The app is closed, or the memory runs out: they break off before they are done.
    """

    def breaks_off(self, device: int) -> float | None:
        """Return after which share of its work the training that `device` begins now fails.

        All shares are equally likely.  None: it does not fail.
        """
        if not (share := self.amount(device)):
            return None
        uniform = self.uniform(device, "training")
        return uniform / share if uniform < share else None
