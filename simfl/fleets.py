"""From a scenario's groups to the arrays of a fleet: every device's numbers, drawn."""

import numpy as np

from simfl.errors import InputError
from simfl.scenario.drawn import Draw
from simfl.scenario.fleet import Group
from simfl.scenario.scenario import Scenario
from simfl.seeds import Seeds
from simfl.sim.fleet import DeviceGroup, Fleet, Power
from simfl.work import Floats, Ids


def draw_fleet(
    scenario: Scenario, seeds: Seeds, samples: Ids, validation: Ids, flops: int | None
) -> Fleet:
    """Draw every device of `scenario`.

    A device's number depends on nothing but its group's name, its place in the group, and what the
    number is: adding a device or a group leaves all others as they were.

    Args:
        scenario: whose fleet.
        seeds: streams are addressed ``("fleet", group, number)``.
        samples: `(n,)` training samples of each device.
        validation: `(n,)` validation samples of each device.
        flops: FLOPs of training one sample, where compute is given in FLOP/s.

    Raises:
        InputError: a number that is not possible was drawn.
    """
    groups: list[DeviceGroup] = []
    columns: dict[str, list[Floats]] = {
        "compute": [], "downlink": [], "uplink": [], "latency": []
    }  # fmt: skip
    first = 0
    for group in scenario.fleet:
        # Data sizes are standardised over the whole fleet, so draws that depend on them see all.
        mine = np.arange(first, first + group.count)
        for number, column in columns.items():
            draw: Draw = getattr(group, number)
            column.append(_numbers(draw, group, number, seeds, samples, mine, flops))
        power = Power() if group.power is None else Power(**group.power.model_dump())
        schedule = group.availability.schedule(group.count, group.name, seeds, scenario.root)
        groups.append(
            DeviceGroup(group.name, first, group.count, schedule, group.on_offline, power)
        )
        first += group.count
    joined = {number: np.concatenate(parts) for number, parts in columns.items()}
    return Fleet(
        groups,
        joined["compute"],
        joined["downlink"],
        joined["uplink"],
        joined["latency"],
        samples,
        validation,
    )


def _numbers(
    draw: Draw, group: Group, number: str, seeds: Seeds, samples: Ids, mine: Ids, flops: int | None
) -> Floats:
    """Return the group's numbers in the units that virtual time uses."""
    uniforms = np.full(len(samples), 0.5)
    drawn = seeds.stream("fleet", group.name, number).random(group.count)
    uniforms[mine] = np.clip(drawn, 2.0**-54, 1 - 2.0**-53)
    values = np.asarray(draw.values(uniforms, samples), dtype=np.float64)[mine]
    if draw.unit == "FLOP/s":
        if not flops:
            raise InputError(
                f"fleet group {group.name!r} computes in FLOP/s, but no operation of the model is "
                "counted as FLOPs; give its compute in samples/s"
            )
        return values / flops
    return values
