"""The numbers of one group's devices, drawn, and what else they have of their own."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simfl.build.guarded import guarded_schedule
from simfl.components.availability.base import Availability, OnlineSchedule
from simfl.components.availability.together import all_of
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids
from simfl.core.units import SAMPLE_TIME
from simfl.errors import InputError
from simfl.scenario.distributions import Draw
from simfl.scenario.parts.battery import Spread
from simfl.scenario.parts.correlation import SAMPLES, Correlations
from simfl.scenario.parts.device_rows import picked, uniforms
from simfl.scenario.parts.fleet import Group
from simfl.sim.battery import Batteries
from simfl.sim.fleet import DeviceGroup, Power


class GroupDrawing:
    """The numbers of one group's devices, each drawn from a stream of its own.

    Args:
        group: as in the scenario.
        seeds: streams are addressed ``("fleet", group, number)``.
        samples: `(n,)` training samples of each device of the fleet.
        mine: `(count,)` ids of this group's.
        flops: FLOPs of training one sample, where compute is given in FLOP/s.
        names: what the clients of its devices are called, where rows are looked up by client.

    Raises:
        InputError: a client has no row.
    """

    def __init__(
        self,
        group: Group,
        seeds: Seeds,
        samples: Ids,
        mine: Ids,
        flops: int | None,
        names: Sequence[str] = (),
    ) -> None:
        self._group, self._seeds = group, seeds
        self._samples, self._mine, self._flops = samples, mine, flops
        self._names = names
        self._correlated: Mapping[str, Floats] = {}
        self._rows = [
            trace.of_clients(names) if trace.by_client else picked(place, group, seeds)
            for place, trace in enumerate(group.trace)
        ]

    def correlate(self, correlations: Correlations, ranks: Floats) -> None:
        """Draw the numbers that go together.

        Args:
            correlations: which, and how.
            ranks: `(n,)` where each device's data size stands in the fleet, if it is one of them.
        """
        uniforms = {
            name: ranks[self._mine] if name == SAMPLES else self._uniforms(name)
            for name in correlations.names
        }
        self._correlated = correlations.mix(uniforms)

    def numbers(self, number: str) -> Floats:
        """Return `(count,)` numbers in the units that virtual time uses.

        Raises:
            InputError: one that is not possible was drawn.
        """
        group = self._group
        for trace, rows in zip(group.trace, self._rows, strict=True):
            if number in trace.columns:
                return self._scaled(trace.values(number, rows), trace.unit(number))
        draw: Draw | None = getattr(group, number)
        if draw is None:
            return np.full(group.count, np.inf)
        return self._drawn(draw, number)

    def capacity(self) -> Floats | None:
        """Return `(count,)` the capacities of the devices' batteries, joules; None: on mains."""
        battery = self._group.battery
        return None if battery is None else self._drawn(battery.capacity, "battery")

    @property
    def _power(self) -> Power:
        power = self._group.power
        return Power() if power is None else Power(**power.model_dump())

    def devices(self, first: int, folder: Path, batteries: Batteries | None) -> DeviceGroup:
        """Return what the group's devices have in common.

        Args:
            first: id of the first of them.
            folder: where relative file names of the scenario are looked up.
            batteries: theirs (None: they are on mains).
        """
        group = self._group
        parts = group.presence.parts
        schedules = [self._schedule(part, name, folder) for name, part in parts]
        return DeviceGroup(
            name=group.name,
            first=first,
            count=group.count,
            schedule=all_of(schedules, group.count),
            on_offline=group.on_offline,
            power=self._power,
            batteries=batteries,
            cell=group.cell,
        )

    def _schedule(self, availability: Availability, name: str, folder: Path) -> OnlineSchedule:
        with blaming(availability, f"scheduling {name}", told_as=InputError):
            own = availability.for_clients(self._names) if availability.by_name else availability
            schedule = own.schedule(self._group.count, name, self._seeds, folder)
            asked = "a schedule with online, next_change_s and next_online_s"
            expect(isinstance(schedule, OnlineSchedule), asked, type(schedule).__name__)
        return guarded_schedule(availability, schedule)

    def batteries(self, folder: Path, capacity: Floats | None) -> Batteries | None:
        """Return the devices' batteries, None if they are on mains.

        Args:
            folder: where relative file names of the scenario are looked up.
            capacity: `(count,)` theirs, joules (None: they are on mains).
        """
        battery = self._group.battery
        if battery is None or capacity is None:
            return None
        start = battery.start
        if isinstance(start, Spread):
            shares = start.at(self._uniforms("battery start"))
        else:
            shares = np.full(self._group.count, start)
        plugged = None
        if battery.plugged is not None:
            name = battery.address(self._group.name)
            plugged = self._schedule(battery.plugged, name, folder)
        return Batteries(
            capacity_j=capacity,
            start=shares,
            minimum=battery.minimum,
            charge_w=battery.charge,
            idle_w=self._power.idle,
            plugged=plugged,
        )

    def _drawn(self, draw: Draw, number: str) -> Floats:
        """Return `(count,)` what `draw` makes of the devices' uniform numbers for `number`."""
        uniforms = np.full(len(self._samples), 0.5)
        own = self._correlated.get(number)
        uniforms[self._mine] = self._uniforms(number) if own is None else own
        if draw.unit == SAMPLE_TIME.base:  # who is fast takes little time
            uniforms = 1 - uniforms
        with np.errstate(over="ignore"):  # infinity is told of
            drawn = np.asarray(draw.values(uniforms, self._samples), dtype=np.float64)[self._mine]
        draw.check(drawn, self._samples[self._mine])
        values = self._scaled(drawn, draw.unit)
        if len(odd := drawn[~_is_possible(number, values)]):
            raise InputError(
                f"{odd[0]:g} {draw.unit} was drawn, which is not possible; give the distribution "
                "`min` and `max`, or less spread"
            )
        return values

    def _uniforms(self, number: str) -> Floats:
        return uniforms(number, self._group, self._seeds)

    def _scaled(self, values: Floats, unit: str) -> Floats:
        """Return `(count,)` compute rates in sample-units per second, all else as it is.

        Rates may be given as FLOP/s or as the time that a sample takes.

        Raises:
            InputError: the model has no FLOPs that FLOP/s could be divided by.
        """
        if unit == SAMPLE_TIME.base:
            with np.errstate(divide="ignore", over="ignore"):  # infinity is told of
                return 1 / values
        if unit != "FLOP/s":
            return values
        if not self._flops:
            raise InputError(
                "no operation of the model is counted as FLOPs, so FLOP/s tell no speed; give "
                "samples/s"
            )
        return values / self._flops


def _is_possible(number: str, values: Floats) -> NDArray[np.bool_]:
    """Return `(count,)` whether a device can have each of the `values`."""
    if number in ("compute", "downlink", "uplink"):
        with np.errstate(divide="ignore", over="ignore"):
            usable = np.isfinite(1 / values) & (values > 0)
        return usable & (np.isfinite(values) | (number != "compute"))
    least = np.nextafter(0, 1) if number == "battery" else 0.0
    return (values >= least) & np.isfinite(values)
