"""Which rows of their traces the devices of a group have, and how many samples those tell of."""

from collections.abc import Sequence

import numpy as np

from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids
from simfl.scenario.parts.fleet import Group


def uniforms(number: str, group: Group, seeds: Seeds) -> Floats:
    """Return `(count,)` uniform numbers of a group's own, in (0, 1).

    Args:
        number: what is drawn by them.
        group: whose devices.
        seeds: the stream is addressed ``("fleet", group, number)``.
    """
    drawn = seeds.stream("fleet", group.name, number).random(group.count)
    return np.clip(drawn, 2.0**-54, 1 - 2.0**-53)


def picked(place: int, group: Group, seeds: Seeds) -> Ids:
    """Return `(count,)` the row of each device of a group in its trace at `place`."""
    number = "trace" if place == 0 else f"trace {place}"
    return group.trace[place].pick(uniforms(number, group, seeds))


def samples_told(fleet: Sequence[Group], seeds: Seeds) -> Ids | None:
    """Return `(n,)` how many samples the rows of devices say that they hold (None: they don't)."""
    told = [
        trace.samples_of(picked(place, group, seeds))
        for group in fleet
        for place, trace in enumerate(group.trace)
        if trace.samples is not None
    ]
    return np.concatenate(told) if told else None
