"""From a scenario's groups to the arrays of a fleet: every device's numbers, drawn."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simfl.build.guarded import guarded_schedule
from simfl.build.occasions import failures, jitter
from simfl.components.availability.base import Availability, OnlineSchedule
from simfl.components.availability.together import all_of
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids
from simfl.errors import InputError
from simfl.scenario.checks import refusal
from simfl.scenario.distributions import Draw
from simfl.scenario.parts.battery import Spread
from simfl.scenario.parts.correlation import SAMPLES, Correlations, sample_ranks
from simfl.scenario.parts.device_trace import DeviceTrace
from simfl.scenario.parts.fleet import Group
from simfl.scenario.scenario import Scenario
from simfl.sim.battery import Batteries
from simfl.sim.fleet import DeviceGroup, Fleet, Power

LINKS = ("compute", "downlink", "uplink", "latency")
"""The numbers that every device has."""


def draw_fleet(
    scenario: Scenario,
    seeds: Seeds,
    samples: Ids,
    validation: Ids,
    flops: int | None,
    names: NDArray[np.str_] | None = None,
) -> Fleet:
    """Draw every device of `scenario`.

    A device's number depends on nothing but its group's name, its place in the group, and what the
    number is: adding a device or a group leaves all others as they were.  (Only what is correlated
    with the data sizes depends on their ranks in the whole fleet.)

    Args:
        scenario: whose fleet.
        seeds: streams are addressed ``("fleet", group, number)``.
        samples: `(n,)` training samples of each device.
        validation: `(n,)` validation samples of each device.
        flops: FLOPs of training one sample, where compute is given in FLOP/s.
        names: `(n,)` what the client is called whose data each device holds (None: nothing says).

    Raises:
        InputError: a number that is not possible was drawn, or a client's device is not known.
    """
    correlations = Correlations.of(scenario.correlate)
    ranks = np.zeros(0)
    if SAMPLES in correlations.names:
        ties = seeds.stream("fleet", SAMPLES).random(len(samples))
        ranks = sample_ranks(samples, ties)
    groups: list[DeviceGroup] = []
    columns = {number: np.empty(len(samples)) for number in (*LINKS, "memory")}
    first = 0
    for index, group in enumerate(scenario.fleet):
        # Data sizes are standardised over the whole fleet, so draws that depend on them see all.
        ids = np.arange(first, first + group.count)
        called = _called(scenario, index, group, None if names is None else names[ids])
        with _placed(scenario, "fleet", index, "trace"):
            drawing = _Drawing(group, seeds, samples, ids, flops, called)
        if correlations.names:
            drawing.correlate(correlations, ranks)
        for number, column in columns.items():
            with _placed(scenario, "fleet", index, number):
                column[first : first + group.count] = drawing.numbers(number)
        with _placed(scenario, "fleet", index, "battery", "capacity"):
            capacity = drawing.capacity()
        with _placed(scenario, "fleet", index, "battery", "plugged"):
            batteries = drawing.batteries(scenario.root, capacity)
        with _placed(scenario, "fleet", index, "availability"):
            groups.append(drawing.devices(first, scenario.root, batteries))
        first += group.count
    return Fleet(
        groups,
        columns["compute"],
        columns["downlink"],
        columns["uplink"],
        columns["latency"],
        samples,
        validation,
        columns["memory"] if np.isfinite(columns["memory"]).any() else None,
        jitter(scenario.fleet, groups, seeds, "compute"),
        failures(scenario.fleet, groups, seeds),
    )


def samples_told(scenario: Scenario, seeds: Seeds) -> Ids | None:
    """Return `(n,)` how many samples the rows of devices say that they hold (None: they don't).

    Args:
        scenario: whose fleet.
        seeds: as `draw_fleet`.
    """
    told = [
        trace.samples_of(_picked(trace, place, group, seeds))
        for group in scenario.fleet
        for place, trace in enumerate(group.trace)
        if trace.samples is not None
    ]
    return np.concatenate(told) if told else None


def _picked(trace: DeviceTrace, place: int, group: Group, seeds: Seeds) -> Ids:
    """Return `(count,)` the row of each device of a group in the trace at `place`."""
    return trace.pick(_uniforms("trace" if place == 0 else f"trace {place}", group, seeds))


def _uniforms(number: str, group: Group, seeds: Seeds) -> Floats:
    """Return `(count,)` uniform numbers of a group's own, in (0, 1)."""
    drawn = seeds.stream("fleet", group.name, number).random(group.count)
    return np.clip(drawn, 2.0**-54, 1 - 2.0**-53)


@contextmanager
def _placed(scenario: Scenario, *path: str | int) -> Iterator[None]:
    """Say where in `scenario` that stands which an `InputError` of the body is about."""
    try:
        yield
    except InputError as error:
        raise refusal(scenario, [(path, str(error))]) from error


def _called(
    scenario: Scenario, index: int, group: Group, names: NDArray[np.str_] | None
) -> Sequence[str]:
    """Return what the clients of a group's devices are called (empty: nobody asks).

    Raises:
        ScenarioError: nothing says it.
    """
    asking = [key for key, asks in group.by_name.items() if asks]
    if not asking:
        return ()
    if names is None:
        dataset = scenario.data.dataset.name
        why = f"data set {dataset!r} does not say what its clients are called; your own does, with"
        raise refusal(scenario, [(("fleet", index, asking[0]), f"{why} `client`")])
    return [str(name) for name in names]


class _Drawing:
    """The numbers of one group's devices."""

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
            trace.of_clients(names) if trace.by_client else _picked(trace, place, group, seeds)
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
            group.name,
            first,
            group.count,
            all_of(schedules, group.count),
            group.on_offline,
            self._power,
            batteries,
            group.cell,
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
            capacity, shares, battery.minimum, battery.charge, self._power.idle, plugged
        )

    def _drawn(self, draw: Draw, number: str) -> Floats:
        """Return `(count,)` what `draw` makes of the devices' uniform numbers for `number`."""
        uniforms = np.full(len(self._samples), 0.5)
        own = self._correlated.get(number)
        uniforms[self._mine] = self._uniforms(number) if own is None else own
        with np.errstate(over="ignore"):  # infinity is told of
            values = np.asarray(draw.values(uniforms, self._samples), dtype=np.float64)[self._mine]
        draw.check(values, self._samples[self._mine])
        values = self._scaled(values, draw.unit)
        if len(odd := values[~_is_possible(number, values)]):
            raise InputError(
                f"{odd[0]:g} {draw.unit} was drawn, which is not possible; give the distribution "
                "`min` and `max`, or less spread"
            )
        return values

    def _uniforms(self, number: str) -> Floats:
        return _uniforms(number, self._group, self._seeds)

    def _scaled(self, values: Floats, unit: str) -> Floats:
        """Return `(count,)` compute rates in sample-units per second, all else as it is.

        Raises:
            InputError: the model has no FLOPs that FLOP/s could be divided by.
        """
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
