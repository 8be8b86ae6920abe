"""Devices that come and go: exponential times online and offline, independent of each other."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule, availabilities
from simfl.components.availability.spells import Instants, Spells, cell
from simfl.core.seeds import Address, Seeds
from simfl.core.types import Flags, Floats, Ids
from simfl.core.units import Duration
from simfl.core.units.dimensions import SHORTEST_S

_MEAN_POINTS, _MAX_POINTS = 2.0, 16  # per block; more than 16 happen in one block of 10 billion
_EACH = np.arange(_MAX_POINTS)[None, :]


@availabilities.register("on_off")
class OnOff(Availability):
    """An alternating renewal process in equilibrium: online a share ``on / (on + off)`` of time.

    Cost: O(1) per question, whatever the instant.
    """

    on: Duration = Field(ge=SHORTEST_S, examples=["2 h"], description="mean length of a session")
    off: Duration = Field(ge=SHORTEST_S, examples=["6 h"], description="mean time between sessions")

    @override
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        return Alternating(devices, self.on, self.off, seeds, ("availability", group, "on_off"))


class Alternating(Spells):
    """The process of `OnOff`, found at any instant without its history.

    Let two independent Poisson processes switch a device on (at rate ``1 / off``) and off (at rate
    ``1 / on``), whatever its state.  It is then online iff the last switch was one to on, and its
    times in each state are exponential with means `on` and `off`.

    Args:
        devices: how many.
        on_s: mean time online, seconds.
        off_s: mean time offline, seconds.
        seeds: the run's root of randomness.
        address: of the draws.
    """

    def __init__(
        self, devices: int, on_s: float, off_s: float, seeds: Seeds, address: tuple[Address, ...]
    ) -> None:
        super().__init__(devices)
        self._to_on = _Points(off_s, seeds, (*address, "to_on"))
        self._to_off = _Points(on_s, seeds, (*address, "to_off"))

    @override
    def spells(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        is_on = self._to_on.last(devices, now_s) > self._to_off.last(devices, now_s)
        until = np.empty(len(devices))
        for on, points in ((is_on, self._to_off), (~is_on, self._to_on)):
            at_s = now_s[on] if isinstance(now_s, np.ndarray) else now_s
            until[on] = points.next(devices[on], at_s)
        return is_on, until


class _Points:
    """A Poisson process for each id, on the whole time axis, looked up block of time by block."""

    def __init__(self, mean_s: float, seeds: Seeds, address: tuple[Address, ...]) -> None:
        self._mean_s, self._seeds, self._address = mean_s, seeds, address
        self._width_s = _MEAN_POINTS * mean_s

    def last(self, ids: Ids, now_s: Instants) -> Floats:
        """Return `(m,)` each id's last point <= `now_s`."""
        return self._find(ids, now_s, forward=False)

    def next(self, ids: Ids, now_s: Instants) -> Floats:
        """Return `(m,)` each id's first point > `now_s`."""
        return self._find(ids, now_s, forward=True)

    def _find(self, ids: Ids, now_s: Instants, *, forward: bool) -> Floats:
        instants = np.empty(len(ids))
        missing, block = np.arange(len(ids)), self._block_of(now_s)
        at_s = now_s[:, None] if isinstance(now_s, np.ndarray) else now_s
        while len(missing):
            points = self._block(ids[missing], block)
            fits = (points > at_s) if forward else (points <= at_s)
            fits &= points < (block + 1) * self._width_s
            nearest = fits.argmax(axis=1) if forward else fits.sum(axis=1) - 1
            fitting = fits.any(axis=1)
            instants[missing[fitting]] = points[fitting, nearest[fitting]]
            missing = missing[~fitting]
            if isinstance(at_s, np.ndarray):
                at_s, block = at_s[~fitting], block[~fitting]
            block = block + (1 if forward else -1)
        return instants

    def _block_of(self, now_s: Instants) -> Any:
        """Return the number of the block that holds an instant, or `(m, 1)` those of several."""
        if isinstance(now_s, np.ndarray):
            return cell(now_s, np.zeros(1), self._width_s)[:, None]
        block = math.floor(now_s / self._width_s)
        if (block + 1) * self._width_s <= now_s:  # rounding: it is the very start of the next
            return block + 1
        return block - (block * self._width_s > now_s)

    def _block(self, ids: Ids, block: Any) -> Floats:
        """Return `(m, 16)` ascending points from the start of a block on, some beyond its end.

        By lack of memory the process starts afresh at the start of each block.

        Args:
            ids: `(m,)` whose.
            block: the number of the block, or `(m, 1)` that of each.
        """
        uniforms = self._seeds.uniforms(self._address, ids[:, None], block * _MAX_POINTS + _EACH)
        points: Floats = block * self._width_s + np.cumsum(-np.log(uniforms) * self._mean_s, axis=1)
        return points
