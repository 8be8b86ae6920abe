"""Rates that differ from time to time: a log-normal factor of median 1."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simfl.core.seeds import Seeds


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


class Jitter:
    """Draws ``exp(sigma * z)`` with z standard normal, anew for each transfer or training.

    The factor depends on nothing but the group's name, the device's place in it, what it does and
    how often it has done so: whatever else happens, a device's tenth upload meets the same
    conditions.

    Args:
        groups: in the order of their devices.
        seeds: streams are addressed ``(purpose, group, doing)``.
        purpose: what varies.
    """

    def __init__(
        self, groups: Sequence[JitterGroup], seeds: Seeds, purpose: Literal["link", "compute"]
    ) -> None:
        self._groups, self._seeds, self._purpose = groups, seeds, purpose
        self._first = [group.first for group in groups]
        self._drawn: Counter[tuple[int, str]] = Counter()

    def varies(self, device: int) -> bool:
        """Return whether the rates of `device` differ from time to time."""
        return self._group(device).sigma > 0

    def factor(self, device: int, doing: str) -> float:
        """Return the factor of the rate at which `device` does what it begins now, to its end."""
        from scipy.special import ndtri  # slow to import: scenarios are checked without it

        group = self._group(device)
        if not group.sigma:
            return 1.0
        number = self._drawn[device, doing]
        self._drawn[device, doing] += 1
        place = np.array([device - group.first])
        uniform = self._seeds.uniforms((self._purpose, group.name, doing), place, number)
        return math.exp(group.sigma * float(ndtri(uniform[0])))

    def _group(self, device: int) -> JitterGroup:
        return self._groups[bisect_right(self._first, device) - 1]
