"""What of a scenario's devices varies from time to time, and how much."""

from collections.abc import Sequence
from typing import Literal

from simfl.core.seeds import Seeds
from simfl.scenario.parts.fleet import Group, RateJitter
from simfl.sim.fleet import DeviceGroup
from simfl.sim.jitter import Jitter, JitterGroup


def jitter(
    groups: Sequence[Group],
    devices: Sequence[DeviceGroup],
    seeds: Seeds,
    purpose: Literal["link", "compute"],
) -> Jitter | None:
    """Return how rates vary, None if they do not.

    Args:
        groups: as in a scenario.
        devices: theirs, in the same order.
        seeds: of the run.
        purpose: which rates.
    """
    asked: list[RateJitter | None] = [
        group.link_jitter if purpose == "link" else group.compute_jitter for group in groups
    ]
    if not any(asked):
        return None
    return Jitter(
        [
            JitterGroup(group.name, group.first, 0.0 if one is None else one.sigma)
            for group, one in zip(devices, asked, strict=True)
        ],
        seeds,
        purpose,
    )
