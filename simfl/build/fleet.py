"""From a scenario's groups to the arrays of a fleet: every device's numbers, drawn."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from simfl.build.group_drawing import GroupDrawing
from simfl.build.occasions import failures, jitter
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.errors import InputError
from simfl.scenario.checks import refusal
from simfl.scenario.looked_up import nameless
from simfl.scenario.parts.correlation import SAMPLES, Correlations, sample_ranks
from simfl.scenario.parts.fleet import Group
from simfl.scenario.scenario import Scenario
from simfl.sim.fleet import DeviceGroup, Fleet

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
            drawing = GroupDrawing(group, seeds, samples, ids, flops, called)
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
        groups=groups,
        rate=columns["compute"],
        downlink_bps=columns["downlink"],
        uplink_bps=columns["uplink"],
        latency_s=columns["latency"],
        samples=samples,
        validation=validation,
        memory_bytes=columns["memory"] if np.isfinite(columns["memory"]).any() else None,
        compute_jitter=jitter(scenario.fleet, groups, seeds, "compute"),
        failures=failures(scenario.fleet, groups, seeds),
    )


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
        raise refusal(scenario, [(("fleet", index, asking[0]), nameless(scenario))])
    return [str(name) for name in names]
