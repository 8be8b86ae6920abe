"""Availability sampled at regular steps, as a two-state Markov chain."""

from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule, availabilities
from simfl.components.availability.spells import Instants, Spells, cell
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Floats, Ids
from simfl.core.units import Duration, Percent
from simfl.core.units.dimensions import SHORTEST_S

_BACK, _AHEAD = 16, 64  # steps drawn at a time
_LEAST = 1e-4
"""Least probability of a change, for the time to the next one is found step by step; and of what
tells the state whatever it was before, which is looked for step by step, too."""


@availabilities.register("markov")
class Markov(Availability):
    """A stationary chain: online a share ``p_become_on / (1 - p_stay_on + p_become_on)`` of time.

    The defaults are those of 723 phones that were idle, charging and on Wi-Fi (FLASH; Yang et al.,
    WWW 2021).  Each device's steps start at a random phase.  Cost: O(1) per question.
    """

    step: Duration = Field(1800.0, ge=SHORTEST_S, description="time between possible changes")
    p_stay_on: Percent = Field(0.761, description="P(online after a step | online)")
    p_become_on: Percent = Field(0.021, description="P(online after a step | offline)")
    aligned: bool = Field(False, description="all devices change at the same instants")

    @model_validator(mode="after")
    def _mixes(self) -> Self:
        if abs(self.p_stay_on - self.p_become_on) == 1:
            raise ValueError(
                "p_stay_on and p_become_on can't be 1 and 0, or 0 and 1: the chain has no "
                "equilibrium to start in"
            )
        if self.p_become_on - self.p_stay_on > 1 - _LEAST:
            raise ValueError(
                f"a device that keeps its state less than once in {1 / _LEAST:,.0f} steps only "
                "goes to and fro: give p_stay_on a larger value, or p_become_on a smaller one"
            )
        changes = (self.p_become_on, 1 - self.p_stay_on)
        if any(0 < change < _LEAST for change in changes):
            raise ValueError(
                f"a device that changes less than once in {1 / _LEAST:,.0f} steps needs a longer "
                "`step`, or the availability `on_off`"
            )
        return self

    @property
    @override
    def ever_online(self) -> bool:
        return self.p_become_on > 0

    @override
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        return _Chain(self, devices, group, seeds)


class _Chain(Spells):
    """The chain, found at any step without its history.

    One uniform number a step decides: below both probabilities the device comes online whatever its
    state, above both it goes offline whatever its state, and in between it keeps its state (or
    flips it, if becoming is likelier than staying).  So only the steps since the last decisive one
    matter (coupling from the past: Propp & Wilson, 1996).
    """

    def __init__(self, options: Markov, devices: int, group: str, seeds: Seeds) -> None:
        super().__init__(devices)
        self._options = options
        self._seeds = seeds
        self._address = ("availability", group, "markov")

    @override
    def spells(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        width = self._options.step
        phase = np.zeros(len(devices))
        if not self._options.aligned:
            phase = width * self._seeds.uniforms((*self._address, "phase"), devices, 0)
        step = cell(now_s, phase, width)
        is_on = self._state(devices, step)
        return is_on, phase + self._next_change(devices, step, is_on) * width

    def _draws(self, devices: Ids, steps: Ids) -> Floats:
        return self._seeds.uniforms(self._address, devices[:, None], steps)

    def _state(self, devices: Ids, step: Ids) -> Flags:
        stay, become = self._options.p_stay_on, self._options.p_become_on
        low, high = min(stay, become), max(stay, become)
        state = np.zeros(len(devices), dtype=np.bool_)
        open_ = np.arange(len(devices))
        back = 0
        while len(open_):
            steps = step[open_, None] - back - np.arange(_BACK)
            draws = self._draws(devices[open_], steps)
            decisive = (draws < low) | (draws >= high)
            first = decisive.argmax(axis=1)
            done = decisive.any(axis=1)
            decided = draws[done, first[done]] < low
            flips = (back + first[done]) % 2 == 1 if become > stay else False
            state[open_[done]] = decided ^ flips
            open_ = open_[~done]
            back += _BACK
        return state

    def _next_change(self, devices: Ids, step: Ids, is_on: Flags) -> Floats:
        """Return `(m,)` the number of the step at which each next changes (inf: never)."""
        stay, become = self._options.p_stay_on, self._options.p_become_on
        change = np.full(len(devices), np.inf)
        open_ = np.flatnonzero(np.where(is_on, stay < 1, become > 0))
        ahead = 1
        while len(open_):
            steps = step[open_, None] + ahead + np.arange(_AHEAD)
            draws = self._draws(devices[open_], steps)
            changes = np.where(is_on[open_, None], draws >= stay, draws < become)
            done = changes.any(axis=1)
            change[open_[done]] = steps[done, changes[done].argmax(axis=1)]
            open_ = open_[~done]
            ahead += _AHEAD
        return change
