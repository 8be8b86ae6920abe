"""Devices that follow the day: a fleet that breathes."""

import math
from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule, availabilities
from simfl.components.availability.spells import Instants, Spells, cell
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Floats, Ids
from simfl.core.units import Duration, Percent

_DAY_S = 86400.0


@availabilities.register("diurnal")
class Diurnal(Availability):
    """Online with a probability that depends on the local time of day, one session a day at most.

    Each device draws one number a day and is online while the probability is above it.  So the
    share online at each hour is as asked, and sessions are unbroken and centred on the peak.
    Cost: O(1) per question.
    """

    high: Percent = Field(0.8, description="probability of being online at the peak")
    low: Percent = Field(0.1, description="probability of being online far from the peak")
    shape: Literal["plateau", "sine"] = Field(
        "plateau", description="plateau: high for `length`, low otherwise; sine: smooth between"
    )
    peak: Duration = Field(7200.0, description="local time of day of the middle of the peak")
    length: Duration = Field(28800.0, le=_DAY_S, description="length of the plateau")
    time_zones: Duration = Field(
        0.0, le=_DAY_S, description="devices' local times are spread uniformly over this duration"
    )
    starts_at: Duration = Field(0.0, description="time of day when the simulation starts")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must be at most high, but got {self.low} and {self.high}")
        if self.shape == "sine" and self.length != Diurnal.model_fields["length"].default:
            raise ValueError("length is that of a plateau, and shape sine has none; leave it out")
        return self

    @property
    def ever(self) -> tuple[float, float]:
        """Probabilities of being online when it is least and when it is most likely."""
        if self.shape == "plateau" and self.length in (0.0, _DAY_S):
            return (self.high, self.high) if self.length else (self.low, self.low)
        return self.low, self.high

    @property
    @override
    def ever_online(self) -> bool:
        return self.ever[1] > 0

    @override
    def longest_session_s(self, folder: Path) -> float:
        least, _ = self.ever
        if least > 0:  # sessions may last for days on end
            return math.inf
        return self.length if self.shape == "plateau" else _DAY_S

    @override
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        return _Days(self, devices, group, seeds)


class _Days(Spells):
    """Days run from trough to trough, so that no session is cut in two."""

    def __init__(self, options: Diurnal, devices: int, group: str, seeds: Seeds) -> None:
        super().__init__(devices)
        self._options = options
        self._seeds = seeds
        self._address = ("availability", group, "diurnal")

    @override
    def spells(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        options = self._options
        zone = self._seeds.uniforms((*self._address, "zone"), devices, 0) - 0.5
        origin = options.peak - options.starts_at - _DAY_S / 2 + options.time_zones * zone
        day = cell(now_s, origin, _DAY_S)
        start, end, _, dusk = self._session(devices, origin, day)
        is_on = (start <= now_s) & (now_s < end)
        until = np.where(is_on, end, np.where(now_s < start, start, dusk))
        # A spell that lasts to the end of the day may go on into the next ones.
        open_ = np.flatnonzero(until >= dusk)
        least, most = options.ever
        if most <= 0 or least >= 1:
            until[open_] = np.inf
            return is_on, until
        while len(open_):
            day[open_] += 1
            start, end, dawn, dusk = self._session(devices[open_], origin[open_], day[open_])
            was_on = is_on[open_]
            ends_s = np.where(was_on, np.where(start <= dawn, end, dawn), start)
            until[open_] = ends_s
            open_ = open_[ends_s >= dusk]
        return is_on, until

    def _session(
        self, devices: Ids, origin: Floats, day: Ids
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return `(m,)` start and end of each device's session on its `day`, and of that day.

        Online all day: the edges of the day; not at all: both at its end.
        """
        options = self._options
        draw = self._seeds.uniforms(self._address, devices, day)
        dawn, dusk = origin + day * _DAY_S, origin + (day + 1) * _DAY_S
        if options.shape == "plateau":
            half = np.full(len(devices), options.length / 2)
        else:
            height = (draw - options.low) / max(options.high - options.low, 1e-300)
            cosine = np.minimum(np.maximum(2 * height - 1, -1), 1)  # np.clip takes thrice as long
            half = np.arccos(cosine) * (_DAY_S / (2 * np.pi))
        all_day, never = draw < options.low, draw >= options.high
        all_day |= ~never & (half >= _DAY_S / 2)
        never |= ~all_day & (half <= 0)
        noon = dawn + _DAY_S / 2
        start = np.where(all_day, dawn, np.where(never, dusk, noon - half))
        end = np.where(all_day | never, dusk, noon + half)
        return start, end, dawn, dusk
