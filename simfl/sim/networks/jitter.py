"""Rates that differ from transfer to transfer: a log-normal factor of median 1."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from simfl.core.seeds import Seeds
from simfl.sim.networks.base import Direction, Variation


@dataclass(frozen=True)
class JitterGroup:
    """Devices whose rates vary alike.

    Attributes:
        name: of the group.
        first: its first device.
        sigma: standard deviation of the factor's logarithm (0: rates do not vary).
    """

    name: str
    first: int
    sigma: float


class Jitter(Variation):
    """A `Variation`: ``exp(sigma * z)`` with z standard normal, anew for each transfer.

    The factor depends on nothing but the group's name, the device's place in it, the direction and
    how many transfers it has had that way: whatever else happens, a device's tenth upload meets the
    same conditions.

    Args:
        groups: in the order of their devices.
        seeds: streams are addressed ``("link", group, direction)``.
    """

    def __init__(self, groups: Sequence[JitterGroup], seeds: Seeds) -> None:
        self._groups, self._seeds = groups, seeds
        self._first = [group.first for group in groups]
        self._transfers: Counter[tuple[int, Direction]] = Counter()

    @override
    def varies(self, device: int) -> bool:
        return self._group(device).sigma > 0

    @override
    def factor(self, device: int, direction: Direction) -> float:
        from scipy.special import ndtri  # slow to import: scenarios are checked without it

        group = self._group(device)
        if not group.sigma:
            return 1.0
        number = self._transfers[device, direction]
        self._transfers[device, direction] += 1
        place = np.array([device - group.first])
        uniform = self._seeds.uniforms(("link", group.name, direction), place, number)
        return math.exp(group.sigma * float(ndtri(uniform[0])))

    def _group(self, device: int) -> JitterGroup:
        return self._groups[bisect_right(self._first, device) - 1]
